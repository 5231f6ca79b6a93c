"""Runs `python -m mongo_agent` as a person does, in a process of its own."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.agents.agent_command import Outcome
from tests.support.mongodb.server import Privilege, User

ROOT = User("root", "open")
CDC = User("cdc", "sesame", (("readAnyDatabase", "admin"), ("read", "local")))
FINDER = User(
    "finder", "open", (("read", "local"),), (Privilege(("find", "listCollections"), "shop"),)
)


def mongo_agent(*arguments: str | Path) -> Outcome:
    """Runs to the end; for commands that end by themselves."""
    done = subprocess.run(
        [sys.executable, "-m", "mongo_agent", *map(str, arguments)],
        capture_output=True,
        timeout=300,
        check=False,
    )
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
        "mongodb.server.selection.timeout.ms": "2000",
        "connect.max.attempts": "1",
        "connect.backoff.initial.delay.ms": "1",
    }
    if user is not None:
        settings |= {"mongodb.user": user.name, "mongodb.password": user.password}
    settings |= changes or {}
    path = folder / "mongo.properties"
    path.write_text("".join(f"{k}={v}\n" for k, v in settings.items() if v is not None))
    return path
