"""`make packages-check`: each package in a bare Debian with systemd, from installation to purge.

Needs root, and mmdebstrap and systemd-container from Debian. The test builds this Debian without
Python, and runs `apt` and `rpm` inside it. The previous version has the same files, a lower number
and another default configuration.
"""

import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from release.__main__ import packages_of
from release.packages import SOURCES, build_packages
from tests.integration.packages.lifecycle import lifecycle, require
from tests.integration.packages.machine import Machine, PackageError, booted, debian
from tests.integration.packages.managers import Deb, Manager, Rpm
from tests.integration.packages.services import Cassandra, Mongo, Service, lines
from tests.support.agents.root_check import missing_prerequisites
from tests.support.servers.errors import ServerFailedError

WORK = Path(".cache") / "packages"
DIST = Path("dist")
PREVIOUS_VERSION = "0.0.1"
_PROGRAMS = {"mmdebstrap": "mmdebstrap", "systemd-nspawn": "systemd-container"}
_IMPORTS = {"gcs": "from google.cloud import storage", "s3": "import botocore.session"}
_QUICKSTART = "/opt/quickstart"


def main() -> int:
    if missing := missing_prerequisites(_PROGRAMS):
        print(missing, file=sys.stderr)
        return 1
    WORK.mkdir(parents=True, exist_ok=True)
    try:
        base, previous = debian(WORK), build_previous()
        for kind in (Deb, Rpm):
            check(kind, base, previous)
    except (PackageError, ServerFailedError, subprocess.CalledProcessError) as error:
        output = getattr(error, "stderr", None) or ""
        print(f"The packages failed: {error} {output}", file=sys.stderr)
        return 1
    return 0


def build_previous() -> Path:
    """Packages with a lower version, whose default configuration lacks one line."""
    folder = WORK / "previous"
    shutil.rmtree(folder, ignore_errors=True)
    sources = folder / "sources"
    shutil.copytree(SOURCES, sources)
    for properties in sources.glob("*/*.properties"):
        properties.write_text("".join(properties.read_text().splitlines(keepends=True)[:-1]))
    for package in packages_of(PREVIOUS_VERSION):
        build_packages(replace(package, sources=sources), folder)
    return folder


def check(kind: type[Deb | Rpm], base: Path, previous: Path) -> None:
    """All packages of a format, on one machine."""
    services: tuple[Service, ...] = (Cassandra(), Mongo())
    name = kind.__name__.lower()
    with (
        tempfile.TemporaryDirectory(dir=WORK) as folder,
        booted(base, Path(folder).resolve() / "root") as machine,
    ):
        manager = kind(machine)
        for service in services:
            done = lifecycle(manager, service, previous, DIST)
            print(f"{service.package}, {name}: passed; {done}", flush=True)
        events = together(manager, services)
        print(f"all packages, {name}: passed; {events} events by the demo", flush=True)


def together(manager: Manager, services: tuple[Service, ...]) -> int:
    """Both agents and the additions on one machine; the demo runs from the package."""
    machine = manager.machine
    for service in services:
        manager.install(service.package, DIST)
    cassandra = services[0]
    python = f"{cassandra.home}/bin/python3"
    require_additions(machine, python, present=False)
    for extra in _IMPORTS:
        manager.install(f"{cassandra.package}-{extra}", DIST)
    require_additions(machine, python, present=True)
    own = machine.root / "usr" / "local" / "lib" / "cdc-sidecar"
    own.mkdir(parents=True)
    (own / "rules.py").write_text("")
    machine.run(python, "-I", "-c", "import rules")
    events = run_demo(machine, python)
    for extra in _IMPORTS:
        manager.remove(f"{cassandra.package}-{extra}")
    require_additions(machine, python, present=False)
    for service in services:
        manager.remove(service.package)
    return events


def require_additions(machine: Machine, python: str, *, present: bool) -> None:
    """Either all store clients can be imported, or none."""
    for extra, statement in _IMPORTS.items():
        done = machine.attempt(python, "-c", statement)
        require((done.returncode == 0) is present, f"{extra}: expected present={present}")


def run_demo(machine: Machine, python: str) -> int:
    """`make demo` with the package's Python and agent."""
    folder = machine.root / _QUICKSTART.lstrip("/")
    shutil.copytree("examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    machine.run(python, "-m", "examples.quickstart.demo", folder=_QUICKSTART)
    return lines(machine, f"{_QUICKSTART}/demo-output/events.ndjson")


if __name__ == "__main__":
    sys.exit(main())
