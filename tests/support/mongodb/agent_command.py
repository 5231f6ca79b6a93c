"""Runs the command line of the MongoDB agent, with a configuration from a few settings."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from unittest import mock

from tests.support.agents.agent_command import Outcome
from tests.support.agents.agent_main import agent
from tests.support.mongodb.server import Privilege, User

ROOT = User("root", "open")
CDC = User("cdc", "sesame", (("readAnyDatabase", "admin"), ("read", "local")))
FINDER = User(
    "finder", "open", (("read", "local"),), (Privilege(("find", "listCollections"), "shop"),)
)


def mongo_agent(*arguments: str | Path) -> Outcome:
    """Runs to the end within this process, which stays one that a debugger may attach to."""
    with mock.patch("sidecar.cli.running.forbid_dumps", return_value=True):
        return agent(*arguments, package="mongo_agent")


def mongo_agent_program(*arguments: str | Path) -> Outcome:
    """Runs to the end as a person runs it, in a process of its own."""
    command = [sys.executable, "-m", "mongo_agent", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, check=False)
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def configuration(
    folder: Path,
    hosts: str,
    user: User | None = None,
    changes: Mapping[str, str | None] | None = None,
) -> Path:
    """A file for a user of these hosts, with `changes` over it; None leaves a property out."""
    offsets = folder / "offsets"
    offsets.mkdir(exist_ok=True)
    settings: dict[str, str | None] = {
        "topic.prefix": "L",
        "sink": "stdout",
        "offset.backing.store.dir": str(offsets),
        "http.host": "127.0.0.1",
        "http.port": "0",
        "mongodb.hosts": hosts,
        "mongodb.server.selection.timeout.ms": "60000",
        "connect.max.attempts": "1",
        "connect.backoff.initial.delay.ms": "1",
    }
    if user is not None:
        settings |= {"mongodb.user": user.name, "mongodb.password": user.password}
    settings |= changes or {}
    path = folder / "mongo.properties"
    path.write_text("".join(f"{k}={v}\n" for k, v in settings.items() if v is not None))
    return path
