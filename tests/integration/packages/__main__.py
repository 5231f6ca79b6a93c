"""`make packages-check`: the packages in a bare Debian: installed, run, upgraded and removed.

Needs root, and mmdebstrap and rpm from Debian. The Debian is made here and has no Python. RPM's own
program installs into the same root.
"""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from release.__main__ import packages_of
from release.packages import build_packages
from tests.support.isolated_agent import (
    Installation,
    InstallationError,
    deliver_recording,
    wait_for_mongodb,
)
from tests.support.servers.errors import ServerFailedError

WORK = Path(".cache") / "packages"
DIST = Path("dist")
PREVIOUS = WORK / "previous"
PREVIOUS_VERSION = "0.0.1"
"""A version before the present one, with the same files."""
COMMANDS = {"cassandra": "agent", "mongo": "mongo-agent"}
PROPERTIES = {"cassandra": "cdc.properties", "mongo": "mongo.properties"}
USERS = {"cassandra": "cassandra", "mongo": "cdc-sidecar"}
RUNS: dict[str, Callable[[Installation, Path], object]] = {
    "cassandra": deliver_recording,
    "mongo": wait_for_mongodb,
}
_EDITED = "\n# edited by the administrator\n"


def main() -> int:
    missing = [name for name in ("mmdebstrap", "rpm") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        print(
            f"This needs root and {' and '.join(missing) or 'nothing else'}: "
            "apt-get install mmdebstrap rpm",
            file=sys.stderr,
        )
        return 1
    WORK.mkdir(parents=True, exist_ok=True)
    try:
        base = debian()
        shutil.rmtree(PREVIOUS, ignore_errors=True)
        PREVIOUS.mkdir()
        for package in packages_of(PREVIOUS_VERSION):
            build_packages(package, PREVIOUS)
        for manager in (Dpkg, Rpm):
            for agent in COMMANDS:
                with tempfile.TemporaryDirectory(dir=WORK) as folder:
                    root = Path(folder).resolve() / "root"
                    subprocess.run(["cp", "-a", str(base), str(root)], check=True)
                    lifecycle(manager(root), agent)
                print(f"cdc-sidecar-{agent} by {manager.__name__.lower()}: passed", flush=True)
    except (InstallationError, ServerFailedError, subprocess.CalledProcessError) as error:
        output = getattr(error, "stderr", None) or ""
        print(f"The packages failed: {error} {output}", file=sys.stderr)
        return 1
    return 0


def debian() -> Path:
    """A Debian with its essential packages, made once."""
    base = WORK / "debian"
    if not base.is_dir():
        partial = WORK / "debian.partial"
        shutil.rmtree(partial, ignore_errors=True)
        command = ["mmdebstrap", "--mode=root", "--variant=essential"]
        include = "--include=passwd,libstdc++6"
        subprocess.run([*command, include, "bookworm", str(partial)], check=True)
        partial.rename(base)
    return base


class Dpkg:
    """Debian's package manager, inside of the root."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def install(self, package: str, folder: Path) -> None:
        (file,) = folder.glob(f"{package}_*.deb")
        shutil.copy(file, self.root / "tmp" / file.name)
        inside(self.root, "dpkg", "--install", f"/tmp/{file.name}")

    def remove(self, package: str) -> None:
        inside(self.root, "dpkg", "--remove", package)


class Rpm:
    """RPM's package manager, from outside of the root, whose Debian it knows nothing of."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def install(self, package: str, folder: Path) -> None:
        (file,) = folder.glob(f"{package}-[0-9]*.rpm")
        self._rpm("--upgrade", "--nodeps", str(file.resolve()))

    def remove(self, package: str) -> None:
        self._rpm("--erase", package)

    def _rpm(self, *arguments: str) -> None:
        command = ["rpm", f"--root={self.root}", "--dbpath=/var/lib/rpm", *arguments]
        subprocess.run(command, check=True, capture_output=True, text=True)


def lifecycle(manager: Dpkg | Rpm, agent: str) -> None:
    """Installs the package, runs the agent, upgrades and removes it."""
    root, package = manager.root, f"cdc-sidecar-{agent}"
    foreign = root / "usr" / "share" / "man" / "man1" / f"{COMMANDS[agent]}.1.gz"
    foreign.parent.mkdir(parents=True, exist_ok=True)
    foreign.write_text("a page of another package\n")

    manager.install(package, PREVIOUS)
    configuration = root / "etc" / "cdc-sidecar" / PROPERTIES[agent]
    require_installed(root, agent, configuration)
    configuration.write_text(configuration.read_text() + _EDITED)
    uid = int(inside(root, "id", "-u", USERS[agent]))
    installed = Installation(root, f"/opt/cdc-sidecar/{agent}", uid)
    with tempfile.TemporaryDirectory() as volume:
        RUNS[agent](installed, Path(volume))

    manager.install(package, DIST)
    require(configuration.read_text().endswith(_EDITED), "the upgrade changed the configuration")
    require_installed(root, agent, configuration)
    with tempfile.TemporaryDirectory() as volume:
        RUNS[agent](installed, Path(volume))

    manager.remove(package)
    require(not (root / "opt" / "cdc-sidecar" / agent / "bin").exists(), "the tree remains")
    require(not (root / "usr" / "bin" / COMMANDS[agent]).is_symlink(), "the command remains")
    require(foreign.read_text().startswith("a page"), "a file of another package is gone")
    kept = [configuration, configuration.with_name(configuration.name + ".rpmsave")]
    require(any(_EDITED in each.read_text() for each in kept if each.exists()), "no configuration")


def require_installed(root: Path, agent: str, configuration: Path) -> None:
    """Command, unit, user, rights and completion are there."""
    command = COMMANDS[agent]
    answer = inside(root, f"/usr/bin/{command}", "--version")
    require(answer.startswith(f"{command} "), f"{command} --version printed {answer!r}")
    mode = stat.S_IMODE(configuration.stat().st_mode)
    require(mode == 0o640, f"{configuration.name} has mode {mode:04o}")
    group = int(inside(root, "id", "-g", USERS[agent]))
    require(configuration.stat().st_gid == group, f"{configuration.name} is not for the agent")
    for path in (
        f"usr/lib/systemd/system/cdc-sidecar-{agent}.service",
        f"usr/share/bash-completion/completions/{command}",
        f"usr/share/man/man1/{command}-check.1.gz",
        f"opt/cdc-sidecar/{agent}/share/licenses",
    ):
        present = root / path
        require(present.exists() or present.is_symlink(), f"/{path} is missing")


def inside(root: Path, *command: str) -> str:
    """Runs a command in the root and returns what it printed."""
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["chroot", str(root), *command],
        env=environment | {"DEBIAN_FRONTEND": "noninteractive"},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def require(is_so: bool, problem: str) -> None:
    if not is_so:
        raise InstallationError(problem)


if __name__ == "__main__":
    sys.exit(main())
