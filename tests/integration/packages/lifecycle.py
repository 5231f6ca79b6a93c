"""A package from its first installation to its purge, on one machine."""

import stat
from collections.abc import Container
from functools import partial
from pathlib import Path

from tests.integration.packages.machine import Machine, PackageError
from tests.integration.packages.managers import Manager
from tests.integration.packages.services import Service
from tests.support.servers.processes import wait_until

_EDITED = "\n# edited by the administrator\n"
_EXPOSURE_LIMIT = 20
"""Exposure level of `systemd-analyze security`, in tenths: 0 is confined, 100 is not."""


def lifecycle(manager: Manager, service: Service, previous: Path, current: Path) -> str:
    """Raises PackageError; returns the agent's results."""
    machine, package = manager.machine, service.package
    foreign = machine.root / "usr" / "share" / "man" / "man1" / f"{service.command}.1.gz"
    foreign.parent.mkdir(parents=True, exist_ok=True)
    foreign.write_text("a page of another package\n")

    manager.install(package, previous)
    require_installed(machine, service)
    require_hardened(machine, service)
    configuration = configure(machine, service)
    machine.run("systemctl", "enable", "--now", package)
    service.wait_until_alive(machine)
    done = service.work(machine)
    require_confined(machine, service)
    require_restart(machine, service)

    before, pid = manager.version(package), machine.service(package, "MainPID")
    manager.install(package, current)
    require(manager.version(package) != before, "the upgrade changed nothing")
    require(machine.service(package, "MainPID") != pid, "the upgrade restarted nothing")
    require(configuration.read_text().endswith(_EDITED), "the upgrade changed the configuration")
    require_installed(machine, service)
    service.wait_until_alive(machine)
    require(service.work(machine) == done, "the upgraded agent repeats or loses events")

    manager.remove(package)
    require_removed(machine, service)
    require(foreign.read_text().startswith("a page"), "a file of another package is gone")
    saved = configuration.with_name(f"{configuration.name}.rpmsave")
    kept = [each for each in (configuration, saved) if each.exists()]
    require(any(_EDITED in each.read_text() for each in kept), "the removal lost the configuration")

    manager.install(package, current)
    if saved.exists():
        saved.rename(configuration)
    machine.run("systemctl", "start", package)
    service.wait_until_alive(machine)
    require(service.work(machine) == done, "the agent installed again repeats or loses events")
    manager.remove(package)
    manager.purge(package)
    require_removed(machine, service)
    state = machine.root / service.state.lstrip("/")
    require(state.is_dir(), "offsets and quarantine are gone")
    require(not machine.attempt("id", service.user).returncode, "the owner of offsets is gone")
    return done


def require_installed(machine: Machine, service: Service) -> None:
    """Command, unit, user, rights, manual and completions are installed."""
    root, command = machine.root, service.command
    answer = machine.run(f"/usr/bin/{command}", "--version")
    require(answer.startswith(f"{command} "), f"{command} --version printed {answer!r}")
    group = int(machine.run("id", "-g", service.user))
    configuration = root / service.configuration.lstrip("/")
    mode = stat.S_IMODE(configuration.stat().st_mode)
    require(mode == 0o640, f"{configuration.name} has mode {mode:04o}")
    require(configuration.stat().st_gid == group, f"{configuration.name} is not for the agent")
    machine.run("test", "-f", f"{service.home}/share/licenses/{service.package}/sbom.cdx.json")
    for path in (
        f"share/bash-completion/completions/{command}",
        f"share/fish/vendor_completions.d/{command}.fish",
        f"share/zsh/vendor-completions/_{command}",
        f"share/man/man1/{command}-check.1.gz",
    ):
        machine.run("test", "-s", f"/usr/{path}")


def require_hardened(machine: Machine, service: Service) -> None:
    """systemd accepts the unit without a warning and reports it as confined; nothing is started."""
    unit = f"{service.package}.service"
    machine.run("systemd-analyze", "verify", "--man=no", unit)
    warned = machine.attempt("systemd-analyze", "verify", "--man=no", unit)
    about = [line for line in warned.stderr.splitlines() if service.package in line]
    require(not about, f"systemd warns: {about}")
    machine.run("systemd-analyze", "security", f"--threshold={_EXPOSURE_LIMIT}", unit)
    require(machine.service(unit, "ActiveState") == "inactive", "the installation started it")
    require(machine.service(unit, "UnitFileState") == "disabled", "the installation enabled it")


def configure(machine: Machine, service: Service) -> Path:
    """Write the configuration like an administrator, keeping owner and rights."""
    text = service.prepare(machine)
    configuration = machine.root / service.configuration.lstrip("/")
    with configuration.open("w") as file:
        file.write(f"{text}\n{_EDITED}")
    return configuration


def require_confined(machine: Machine, service: Service) -> None:
    """The kernel confines the running process, which runs as the agent's user."""
    pid = machine.service(service.package, "MainPID")
    status = dict(
        line.split(":\t", 1) for line in machine.run("cat", f"/proc/{pid}/status").splitlines()
    )
    uid = machine.run("id", "-u", service.user)
    require(status["Uid"].split() == [uid] * 4, f"the agent runs as {status['Uid']}")
    expected = {"NoNewPrivs": "1", "Seccomp": "2", "CapBnd": "0" * 16, "CapEff": "0" * 16}
    found = {name: status[name].strip() for name in expected}
    require(found == expected, f"the agent has {found}")
    mounts = machine.run("cat", f"/proc/{pid}/mountinfo").splitlines()
    (root,) = (line.split()[5] for line in mounts if line.split()[4] == "/")
    require("ro" in root.split(","), f"the agent's root is mounted {root}")


def require_restart(machine: Machine, service: Service) -> None:
    """After ten kills, more than systemd allows by default, the service runs again."""
    unit = service.package
    for _ in range(10):
        gone = ("0", machine.service(unit, "MainPID"))
        machine.run("systemctl", "kill", "--kill-whom=main", "--signal=KILL", unit)
        has_started = partial(_is_another, machine, unit, gone)
        wait_until(has_started, f"another process of {unit}")
    service.wait_until_alive(machine)


def _is_another(machine: Machine, unit: str, gone: Container[str]) -> bool:
    return machine.service(unit, "MainPID") not in gone


def require_removed(machine: Machine, service: Service) -> None:
    """Process, files and links are removed."""
    require(not (machine.root / service.home.lstrip("/") / "bin").exists(), "the tree remains")
    commands = machine.run("sh", "-c", "cat /proc/[0-9]*/cmdline").split("\0")
    require(f"{service.home}/bin/{service.command}" not in commands, "the process remains")
    dangling = [
        str(path.relative_to(machine.root))
        for path in (machine.root / "usr").rglob("*")
        if path.is_symlink() and str(path.readlink()).startswith(service.home)
    ]
    require(not dangling, f"links remain: {dangling}")


def require(is_so: bool, problem: str) -> None:
    if not is_so:
        raise PackageError(problem)
