"""Java programs of the tests, compiled once for each state of their sources.

Eclipse's compiler does it, so that a Java runtime without `javac` is enough.
"""

import hashlib
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path

from tests.support.servers.cache import cached_directory
from tests.support.servers.errors import ToolFailedError
from tests.support.servers.java import java
from tests.support.servers.maven import artifact

_SOURCES = Path(__file__).resolve().parents[2] / "oracle" / "reader-java" / "src"
_COMPILER = "org.eclipse.jdt:ecj:3.33.0"


def reader_classes(jars: Path, major: int) -> Path:
    """The programs in `tests/oracle/reader-java`, compiled against the jars of Cassandra's release
    `major`, 5 or 6."""
    folders = (_SOURCES / "main", _SOURCES / f"release-{major}")
    return compiled([file for each in folders for file in sorted(each.rglob("*.java"))], jars)


def jmx_classes() -> Path:
    """The one program in `tests/oracle/reader-java` that needs no jars."""
    return compiled(sorted(_SOURCES.rglob("Jmx.java")))


def compiled(files: Sequence[Path], jars: Path | None = None, *, release: int = 11) -> Path:
    """A folder of the classes of these files, compiled against the jars in a folder.

    `release` is that of the language: 11, or as much as the compiler knows (17).
    """
    digest = hashlib.sha256(f"{jars} {release}".encode())
    for file in files:
        digest.update(file.read_bytes())

    def compile_into(target: Path) -> None:
        command = [str(java(17)), "-jar", str(artifact(_COMPILER)), f"-{release}", "-nowarn"]
        if jars is not None:
            command += ["-classpath", ":".join(map(str, _jars_for_compiler(jars)))]
        command += ["-d", str(target), *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            output = (done.stdout + done.stderr)[:4000]
            raise ToolFailedError(f"The Java sources do not compile:\n{output}")

    return cached_directory(f"classes/{digest.hexdigest()[:12]}", compile_into)


def _jars_for_compiler(folder: Path) -> list[Path]:
    # A jar with packages of Java's own makes the compiler doubt every class of them.
    found = []
    for jar in sorted(folder.glob("*.jar")):
        with zipfile.ZipFile(jar) as archive:
            if not any(name.startswith("java/") for name in archive.namelist()):
                found.append(jar)
    return found
