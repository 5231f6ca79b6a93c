"""The Java programs in `tests/reader-java`, compiled once for each state of their sources.

Eclipse's compiler does it, so that a Java runtime without `javac` is enough.
"""

import hashlib
import subprocess
from pathlib import Path

from tests.harness.cache import cached_directory
from tests.harness.errors import ToolFailedError
from tests.harness.java import java
from tests.harness.maven import artifact

SOURCES = Path(__file__).resolve().parents[1] / "reader-java" / "src" / "main" / "java"
_COMPILER = "org.eclipse.jdt:ecj:3.33.0"


def compiled_classes(jars: Path | None = None, only: str = "") -> Path:
    """A folder of classes, compiled against the jars in a folder.

    `only` is the name of a single source file that needs no jars.
    """
    files = sorted(SOURCES.rglob(only or "*.java"))
    digest = hashlib.sha256(str(jars).encode())
    for file in files:
        digest.update(file.read_bytes())

    def compile_into(target: Path) -> None:
        command = [str(java(17)), "-jar", str(artifact(_COMPILER)), "-11", "-nowarn"]
        if jars is not None:
            command += ["-classpath", ":".join(str(jar) for jar in sorted(jars.glob("*.jar")))]
        command += ["-d", str(target), *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ToolFailedError(f"The Java sources do not compile:\n{done.stdout}{done.stderr}")

    return cached_directory(f"classes/{digest.hexdigest()[:12]}", compile_into)
