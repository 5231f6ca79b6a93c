"""An installed agent in a root of its own: first process of its tree, over a read-only root."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from examples.quickstart.demo import RECORDING, unpack
from tests.support.servers.processes import DEADLINE_S, free_port, wait_until

# The root is bound to itself and made read-only; the command becomes process 1.
_RUN = """
set -e
mount --make-rprivate /
mount --bind "$0" "$0"
mount --bind "$1" "$0/mnt"
mount -o remount,ro,bind "$0"
mount -t proc proc "$0/proc"
shift
user=$1
shift
exec chroot --userspec="$user" "$0" "$@"
"""


class InstallationError(Exception):
    """An installed agent does not work."""


@dataclass(frozen=True, slots=True)
class Installation:
    """An installed agent: the root with its files, where it is inside, and its user."""

    root: Path
    home: str
    """`/opt/cdc-sidecar`: the folder with `bin`."""
    uid: int

    def command(self, volume: Path, *command: str) -> list[str]:
        """A command inside of the root, with `volume` at `/mnt`. Needs root."""
        isolated = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        user = f"{self.uid}:{self.uid}"
        return [*isolated, "sh", "-c", _RUN, str(self.root), str(volume), user, *command]

    def environment(self, port: int) -> dict[str, str]:
        """`port` is that of `/live`, for the health check."""
        path = f"{self.home}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        names = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1", "HTTP_PORT": str(port)}
        return {"PATH": path, **names}


@contextmanager
def running_installation(
    installed: Installation, volume: Path, program: str, properties: dict[str, object]
) -> Iterator[None]:
    """An agent that is healthy by its own check, and that SIGTERM ends with 0 afterwards."""
    port = free_port()
    settings = {**properties, "http.host": "127.0.0.1", "http.port": port}
    lines = "".join(f"{name}={value}\n" for name, value in settings.items())
    (volume / "agent.properties").write_text(lines)
    for path in (volume, *volume.rglob("*")):
        os.chown(path, installed.uid, installed.uid)
    environment = installed.environment(port)
    binaries = f"{installed.home}/bin"
    start = [f"{binaries}/{program}", "run", "--config", "/mnt/agent.properties"]
    check = installed.command(volume, f"{binaries}/python", "-m", "sidecar.healthcheck")
    with (volume / "log").open("wb") as log:
        process = subprocess.Popen(
            installed.command(volume, *start), env=environment, stdout=log, stderr=log
        )

        def is_alive() -> bool:
            if process.poll() is not None:
                log_text = (volume / "log").read_text()[-2000:]
                raise InstallationError(f"{program} ended: {log_text}")
            asked = subprocess.run(check, env=environment, check=False, capture_output=True)
            return asked.returncode == 0

        try:
            wait_until(is_alive, f"the health of {program}")
            yield
            # `unshare` has one child, which is the first process of its tree.
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(children[0]), 15)
            if process.wait(DEADLINE_S) != 0:
                raise InstallationError(f"{program} ended with {process.returncode} on SIGTERM")
        finally:
            process.kill()
            process.wait()


def deliver_recording(installed: Installation, volume: Path) -> int:
    """Runs the Cassandra agent over the recorded `cdc_raw` of the demo; the number of events."""
    unpack(RECORDING, volume / "node")
    shutil.copy(RECORDING.with_name("schema.cql"), volume / "schema.cql")
    for name in ("relocation", "offsets"):
        (volume / name).mkdir()
    properties: dict[str, object] = {
        "topic.prefix": "image",
        "sink": "file",
        "file.path": "/mnt/events.ndjson",
        "schema.file": "/mnt/schema.cql",
        "node.id": "node-1",
        "cdc.raw.directory": "/mnt/node/cdc_raw",
        "commit.log.relocation.dir": "/mnt/relocation",
        "offset.backing.store.dir": "/mnt/offsets",
    }
    raw = volume / "node" / "cdc_raw"
    with running_installation(installed, volume, "agent", properties):
        wait_until(lambda: not any(raw.glob("*.log")), "the end of cdc_raw")
    events = (volume / "events.ndjson").read_bytes().count(b"\n")
    if not events:
        raise InstallationError("the agent wrote no event")
    return events


def wait_for_mongodb(installed: Installation, volume: Path) -> None:
    """Runs the MongoDB agent without a server: it waits and stays alive."""
    (volume / "offsets").mkdir()
    properties: dict[str, object] = {
        "topic.prefix": "image",
        "sink": "file",
        "file.path": "/mnt/events.ndjson",
        "mongodb.hosts": f"rs0/127.0.0.1:{free_port()}",
        "offset.backing.store.dir": "/mnt/offsets",
    }
    with running_installation(installed, volume, "mongo-agent", properties):
        pass
