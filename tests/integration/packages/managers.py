"""The package managers of Debian and of RPM, inside a container."""

import shutil
from abc import ABC, abstractmethod
from pathlib import Path

from tests.integration.packages.machine import Machine


class Manager(ABC):
    """Installs, upgrades and removes packages like an administrator."""

    pattern: str
    """Pattern of a package's file, with its name as `{}`."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def install(self, package: str, folder: Path) -> None:
        """Install the package of a folder, or upgrade to it."""
        (file,) = folder.glob(self.pattern.format(package))
        inside = Path("/var/tmp") / file.name
        copied = self.machine.root / inside.relative_to("/")
        shutil.copy(file, copied)
        self._install(str(inside))
        copied.unlink()

    @abstractmethod
    def _install(self, file: str) -> None: ...

    @abstractmethod
    def version(self, package: str) -> str: ...

    @abstractmethod
    def remove(self, package: str) -> None:
        """Remove the package, but not the administrator's files."""

    @abstractmethod
    def purge(self, package: str) -> None:
        """Also remove the configuration, if the format supports this."""


class Deb(Manager):
    pattern = "{}_*.deb"

    def _install(self, file: str) -> None:
        keep = "Dpkg::Options::=--force-confold"
        self.machine.run("apt-get", "install", "--yes", "--quiet", "-o", keep, file)

    def version(self, package: str) -> str:
        return self.machine.run("dpkg-query", "--show", "--showformat=${Version}", package)

    def remove(self, package: str) -> None:
        self.machine.run("apt-get", "remove", "--yes", "--quiet", package)

    def purge(self, package: str) -> None:
        self.machine.run("apt-get", "purge", "--yes", "--quiet", package)


class Rpm(Manager):
    """Its database is empty: RPM reports the content of Debian's packages as missing."""

    pattern = "{}-[0-9]*.rpm"

    def _install(self, file: str) -> None:
        self.machine.run("rpm", "--upgrade", "--nodeps", file)

    def version(self, package: str) -> str:
        return self.machine.run("rpm", "--query", "--queryformat=%{VERSION}", package)

    def remove(self, package: str) -> None:
        self.machine.run("rpm", "--erase", package)

    def purge(self, package: str) -> None:
        """RPM has no purge: it renames a changed configuration to `.rpmsave`."""
