"""The package managers of Debian and of RPM, inside of a container."""

import shutil
from abc import ABC, abstractmethod
from pathlib import Path

from tests.integration.packages.machine import Machine


class Manager(ABC):
    """Installs, upgrades and removes packages as an administrator does."""

    pattern: str
    """Of the file of a package, with its name as `{}`."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def install(self, package: str, folder: Path) -> None:
        """Installs the package of a folder, or upgrades to it."""
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
        """Removes the package, but not what the administrator wrote."""

    @abstractmethod
    def purge(self, package: str) -> None:
        """Removes the configuration too, where the format knows this."""


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
    """Its database is empty: what Debian's packages provide counts as missing."""

    pattern = "{}-[0-9]*.rpm"

    def _install(self, file: str) -> None:
        self.machine.run("rpm", "--upgrade", "--nodeps", file)

    def version(self, package: str) -> str:
        return self.machine.run("rpm", "--query", "--queryformat=%{VERSION}", package)

    def remove(self, package: str) -> None:
        self.machine.run("rpm", "--erase", package)

    def purge(self, package: str) -> None:
        """RPM knows no purge: it renames a changed configuration to `.rpmsave`."""
