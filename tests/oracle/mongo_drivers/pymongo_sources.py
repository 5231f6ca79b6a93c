"""The tests in pymongo's source archive, fetched by pip into the cache folder."""

import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

from tests.support.servers.cache import REPOSITORY, cached_directory
from tests.support.servers.errors import HarnessError

_LOCK = REPOSITORY / "requirements" / "mongo.lock"
_TIMEOUT_S = 600


def pymongo_tests() -> Path:
    """The folder with pymongo's package `test`, of the installed release.

    Raises HarnessError when pip cannot fetch the archive.
    """
    return cached_directory(f"pymongo-tests-{version('pymongo')}", _fetch)


def locked_requirement(lock: str, name: str) -> str:
    """The lines of a lock file that pin `name` with its hashes."""
    lines = lock.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(f"{name}=="))
    end = start
    while lines[end].endswith("\\"):
        end += 1
    return "\n".join(lines[start : end + 1]) + "\n"


def _fetch(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        downloads = Path(temporary)
        requirement = downloads / "requirement.txt"
        lock = _LOCK.read_text(encoding="utf-8")
        requirement.write_text(locked_requirement(lock, "pymongo"), encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--require-hashes", "--no-binary", "pymongo"]
        command += ["-r", str(requirement), "-d", str(downloads)]
        try:
            subprocess.run(command, check=True, timeout=_TIMEOUT_S)
        except (subprocess.SubprocessError, OSError) as error:
            raise HarnessError(f"pip cannot download pymongo's source archive: {error}.") from error
        (archive,) = downloads.glob("pymongo-*.tar.gz")
        _unpack(archive, folder)


def _unpack(archive: Path, folder: Path) -> None:
    """The tests alone: the package under test is the installed one, with its extension."""
    with tarfile.open(archive) as opened:
        for member in opened:
            member.name = member.name.partition("/")[2]
            if member.name.startswith("test/"):
                opened.extract(member, folder, filter="data")
