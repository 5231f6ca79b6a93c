"""A minimal Debian with systemd as a container: built by mmdebstrap, started by systemd-nspawn."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.servers.processes import wait_until

_INCLUDED = "passwd,systemd,systemd-sysv,dbus,libstdc++6,rpm"
_NAMESPACES = ("--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root", "--wd=/")
_ENVIRONMENT = ("LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", "SYSTEMD_PAGER=")
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_POWEROFF_S = 60.0


class PackageError(Exception):
    """A package does not meet a requirement."""


def debian(work: Path) -> Path:
    """Debian without Python, built once below `work`."""
    base = work / "debian"
    if not base.is_dir():
        partial = work / "debian.partial"
        shutil.rmtree(partial, ignore_errors=True)
        command = ["mmdebstrap", "--mode=root", "--variant=apt", f"--include={_INCLUDED}"]
        subprocess.run([*command, "bookworm", str(partial)], check=True)
        partial.rename(base)
    if any((base / "usr" / "bin").glob("python3*")):
        raise PackageError(f"{base} has a Python, which would hide that a package needs one.")
    return base


@dataclass(frozen=True, slots=True)
class Machine:
    """A running container."""

    root: Path
    leader: int
    """Process id of its systemd on this machine."""

    def run(self, *command: str, folder: str = "/") -> str:
        """Run a command as root and return its output. Raises PackageError."""
        done = self.attempt(*command, folder=folder)
        if done.returncode:
            raise PackageError(
                f"{' '.join(command)} ended with {done.returncode}: {done.stdout}{done.stderr}"
            )
        return done.stdout.strip()

    def attempt(self, *command: str, folder: str = "/") -> subprocess.CompletedProcess[str]:
        enter = ["nsenter", f"--target={self.leader}", *_NAMESPACES]
        environment = ["env", "-i", f"--chdir={folder}", _PATH, *_ENVIRONMENT]
        return subprocess.run(
            [*enter, *environment, *command],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    def service(self, unit: str, name: str) -> str:
        """Property of a unit, such as `MainPID`."""
        return self.run("systemctl", "show", "--value", f"--property={name}", unit)


@contextmanager
def booted(base: Path, root: Path) -> Iterator[Machine]:
    """Copy the base to `root` and run it until the block ends."""
    subprocess.run(["cp", "-a", str(base), str(root)], check=True)
    container = ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network"]
    with (root.parent / "console").open("wb") as console:
        process = subprocess.Popen(
            [*container, "--boot", "--console=pipe", f"--directory={root}"],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
        )
    try:
        machine = Machine(root, _leader(process))
        wait_until(
            lambda: (
                machine.attempt("systemctl", "is-system-running").stdout.strip()
                in ("running", "degraded")
            ),
            "systemd of the container",
        )
        try:
            yield machine
        finally:
            machine.attempt("systemctl", "poweroff", "--no-block")
            process.wait(_POWEROFF_S)
    finally:
        process.kill()
        process.wait()


def _leader(process: subprocess.Popen[bytes]) -> int:
    """First process of the container, as soon as systemd runs in it."""
    found: list[int] = []

    def is_there() -> bool:
        if process.poll() is not None:
            raise PackageError(f"systemd-nspawn ended with {process.returncode}")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        found[:] = [int(each) for each in children if _program(each) == "systemd"]
        return bool(found)

    wait_until(is_there, "the first process of the container")
    return found[0]


def _program(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/exe").readlink().name
    except FileNotFoundError:
        return ""
