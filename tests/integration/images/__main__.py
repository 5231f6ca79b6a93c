"""`make images-check`: both images, built without a daemon and run as they are meant to.

Needs root, and buildah and mmdebstrap from Debian. The base is made here, so nothing comes from a
registry of images. Each is built twice and has to be the same; then it runs as the first process of
its own process tree, as its own user, over a root that cannot be written.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from examples.quickstart.demo import RECORDING, unpack
from tests.support.servers.errors import ServerFailedError
from tests.support.servers.processes import free_port, wait_until

WORK = Path(".cache") / "images"
BASE = "localhost/cdc-python"
IMAGES = {"cassandra": "cdc-sidecar-cassandra", "mongo": "cdc-sidecar-mongo"}
_DEADLINE_S = 300.0
_MIB = 1 << 20
_USER = 999
# The root is bound to itself and made read-only; what comes behind is the process with number 1.
_RUN = """
set -e
mount --make-rprivate /
mount --bind "$0" "$0"
mount --bind "$1" "$0/mnt"
mount -o remount,ro,bind "$0"
mount -t proc proc "$0/proc"
shift
exec chroot --userspec=999:999 "$0" "$@"
"""


class ImageError(Exception):
    """An image is not what it should be."""


def main() -> int:
    missing = [name for name in ("buildah", "mmdebstrap") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        print(
            f"This needs root and {' and '.join(missing) or 'nothing else'}: "
            "apt-get install buildah mmdebstrap",
            file=sys.stderr,
        )
        return 1
    WORK.mkdir(parents=True, exist_ok=True)
    try:
        make_base()
        for agent, name in IMAGES.items():
            first, second = build(agent, name), build(agent, name)
            if first != second:
                raise ImageError(f"{name}: two builds differ, {first} and {second}")
            require_settings(name)
            with root_of(name) as root, tempfile.TemporaryDirectory() as folder:
                volume = Path(folder)
                {"cassandra": run_cassandra, "mongo": run_mongo}[agent](root, volume)
                print(f"{name}: {size_mib(root):.0f} MiB, {own_mib(root):.0f} of them the agent's")
    except (ImageError, ServerFailedError, subprocess.CalledProcessError) as error:
        print(f"The images failed: {error}", file=sys.stderr)
        return 1
    return 0


def buildah(*arguments: str) -> str:
    (WORK / "policy.json").write_text('{"default":[{"type":"insecureAcceptAnything"}]}')
    (WORK / "registries.conf").write_text("unqualified-search-registries = []\n")
    storage = f'[storage]\ndriver = "vfs"\nrunroot = "{WORK.resolve()}/run"\n'
    (WORK / "storage.conf").write_text(storage + f'graphroot = "{WORK.resolve()}/store"\n')
    environment = os.environ | {
        "CONTAINERS_STORAGE_CONF": str((WORK / "storage.conf").resolve()),
        "CONTAINERS_REGISTRIES_CONF": str((WORK / "registries.conf").resolve()),
        "BUILDAH_ISOLATION": "chroot",
    }
    done = subprocess.run(
        ["buildah", *arguments], env=environment, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise ImageError(f"buildah {arguments[0]}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def make_base() -> None:
    """Debian with Python and nothing else, once."""
    if BASE in buildah("images", "--format", "{{.Name}}"):
        return
    include = "--include=python3,python3-venv,ca-certificates"
    without = [f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in ("doc", "man", "locale")]
    archive = WORK / "base.tar"
    command = ["mmdebstrap", "--mode=root", "--variant=minbase", include, *without]
    command += ["--customize-hook=rm -rf $1/var/lib/apt/lists $1/var/cache/apt", "bookworm"]
    subprocess.run([*command, str(archive)], check=True)
    file = WORK / "Dockerfile.base"
    file.write_text("FROM scratch\nADD base.tar /\n")
    policy = f"--signature-policy={WORK.resolve()}/policy.json"
    buildah("bud", policy, "-f", str(file), "-t", BASE, str(WORK))
    archive.unlink()


def build(agent: str, name: str) -> list[str]:
    """Builds it anew; gives the digests of its layers. That of the image is another one each time,
    for Docker's format names the container that it was made in."""
    buildah(
        "bud",
        f"--signature-policy={WORK.resolve()}/policy.json",
        "--pull-never",
        "--no-cache",
        "--timestamp=0",
        "--format=docker",
        f"--build-arg=PYTHON={BASE}",
        f"--file=Dockerfile.{agent}",
        f"--tag={name}",
        ".",
    )
    return list(inspected(name)["OCIv1"]["rootfs"]["diff_ids"])


def inspected(name: str) -> dict[str, Any]:
    return dict(json.loads(buildah("inspect", "--type", "image", name)))


def require_settings(name: str) -> None:
    config = inspected(name)["Docker"]["config"]
    expected = {"User": f"{_USER}:{_USER}", "StopSignal": "SIGTERM", "WorkingDir": "/"}
    for key, value in expected.items():
        if config.get(key) != value:
            raise ImageError(f"{name}: {key} is {config.get(key)}")
    for key in ("Healthcheck", "Labels", "Entrypoint", "ExposedPorts"):
        if not config.get(key):
            raise ImageError(f"{name} has no {key}")


@contextmanager
def root_of(name: str) -> Iterator[Path]:
    policy = f"--signature-policy={WORK.resolve()}/policy.json"
    container = buildah("from", policy, "--pull-never", name).strip()
    try:
        yield Path(buildah("mount", container).strip())
    finally:
        buildah("rm", container)


def command_in(root: Path, volume: Path, *command: str) -> list[str]:
    isolated = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    return [*isolated, "sh", "-c", _RUN, str(root), str(volume), *command]


def environment(port: int) -> dict[str, str]:
    path = "/opt/cdc-sidecar/bin:/usr/local/bin:/usr/bin:/bin"
    names = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1", "HTTP_PORT": str(port)}
    return {"PATH": f"{path}:/usr/sbin:/sbin", **names}


@contextmanager
def running(
    root: Path, volume: Path, program: str, properties: dict[str, object]
) -> Iterator[None]:
    """Healthy by its own check when this begins, ended by SIGTERM with 0 when it is over."""
    port = free_port()
    settings = {**properties, "http.host": "127.0.0.1", "http.port": port}
    lines = "".join(f"{name}={value}\n" for name, value in settings.items())
    (volume / "agent.properties").write_text(lines)
    for path in (volume, *volume.rglob("*")):
        os.chown(path, _USER, _USER)
    start = [f"/opt/cdc-sidecar/bin/{program}", "run", "--config", "/mnt/agent.properties"]
    with (volume / "log").open("wb") as log:
        process = subprocess.Popen(
            command_in(root, volume, *start), env=environment(port), stdout=log, stderr=log
        )
        check = command_in(root, volume, "/opt/cdc-sidecar/bin/python", "-m", "sidecar.healthcheck")

        def is_alive() -> bool:
            if process.poll() is not None:
                raise ImageError(f"{program} ended: {(volume / 'log').read_text()[-2000:]}")
            asked = subprocess.run(check, env=environment(port), check=False, capture_output=True)
            return asked.returncode == 0

        try:
            wait_until(is_alive, f"the health of {program}", deadline_s=_DEADLINE_S)
            yield
            # `unshare` has one child, which is the first process of its tree.
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(children[0]), 15)
            if process.wait(_DEADLINE_S) != 0:
                raise ImageError(f"{program} ended with {process.returncode} on SIGTERM")
        finally:
            process.kill()
            process.wait()


def run_cassandra(root: Path, volume: Path) -> None:
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
    with running(root, volume, "agent", properties):
        wait_until(lambda: not any(raw.glob("*.log")), "the end of cdc_raw", deadline_s=_DEADLINE_S)
    if not (volume / "events.ndjson").read_bytes().count(b"\n"):
        raise ImageError("the agent wrote no event")


def run_mongo(root: Path, volume: Path) -> None:
    """Its server is unavailable: it waits and stays alive."""
    (volume / "offsets").mkdir()
    properties: dict[str, object] = {
        "topic.prefix": "image",
        "sink": "file",
        "file.path": "/mnt/events.ndjson",
        "mongodb.hosts": f"rs0/127.0.0.1:{free_port()}",
        "offset.backing.store.dir": "/mnt/offsets",
    }
    with running(root, volume, "mongo-agent", properties):
        pass


def size_mib(folder: Path) -> float:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files) / _MIB


def own_mib(root: Path) -> float:
    return size_mib(root / "opt")


if __name__ == "__main__":
    sys.exit(main())
