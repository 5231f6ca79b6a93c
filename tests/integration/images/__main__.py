"""`make images-check`: builds both images without a daemon and runs them as documented.

Needs root, and buildah and mmdebstrap from Debian. The base image is built here, so no registry of
images is involved. Each image is built twice with equal results. It then runs as the first process
of its own process tree, as its own user, over a read-only root.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.agents.isolated_agent import (
    Installation,
    InstallationError,
    deliver_recording,
    wait_for_mongodb,
)
from tests.support.agents.root_check import missing_prerequisites
from tests.support.servers.errors import ServerFailedError

WORK = Path(".cache") / "images"
BASE = "localhost/cdc-python-trixie"
IMAGES = {"cassandra": "cdc-sidecar-cassandra", "mongo": "cdc-sidecar-mongo"}
_PROGRAMS = {"buildah": "buildah", "mmdebstrap": "mmdebstrap"}
_MIB = 1 << 20
_USER = 999


class ImageError(Exception):
    """An image does not meet a requirement."""


def main() -> int:
    if missing := missing_prerequisites(_PROGRAMS):
        print(missing, file=sys.stderr)
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
                installed = Installation(root, "/opt/cdc-sidecar", _USER)
                {"cassandra": deliver_recording, "mongo": wait_for_mongodb}[agent](
                    installed, Path(folder)
                )
                own_mib = size_mib(root / "opt")
                print(f"{name}: {size_mib(root):.0f} MiB, {own_mib:.0f} of them the agent's")
    except (
        ImageError,
        InstallationError,
        ServerFailedError,
        subprocess.CalledProcessError,
    ) as error:
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
    """Debian with Python and nothing else, built once."""
    if BASE in buildah("images", "--format", "{{.Name}}"):
        return
    include = "--include=python3,python3-venv,ca-certificates"
    without = [f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in ("doc", "man", "locale")]
    archive = WORK / "base.tar"
    command = ["mmdebstrap", "--mode=root", "--variant=minbase", include, *without]
    command += ["--customize-hook=rm -rf $1/var/lib/apt/lists $1/var/cache/apt", "trixie"]
    subprocess.run([*command, str(archive)], check=True)
    file = WORK / "Dockerfile.base"
    file.write_text("FROM scratch\nADD base.tar /\n")
    policy = f"--signature-policy={WORK.resolve()}/policy.json"
    buildah("bud", policy, "-f", str(file), "-t", BASE, str(WORK))
    archive.unlink()


def build(agent: str, name: str) -> list[str]:
    """Build the image without a cache; returns the digests of its layers. The digest of the image
    differs each time, because Docker's format contains the name of the build container."""
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


def size_mib(folder: Path) -> float:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files) / _MIB


if __name__ == "__main__":
    sys.exit(main())
