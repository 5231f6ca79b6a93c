"""Class paths and single artifacts from Maven repositories, each resolved once and then cached."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.servers.cache import cached_directory
from tests.support.servers.errors import MissingToolError, ToolFailedError
from tests.support.servers.java import java_home

_DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"


@dataclass(frozen=True)
class Dependency:
    """One artifact of a class path. `excludes` are `group:artifact` texts."""

    group: str
    artifact: str
    version: str
    excludes: Sequence[str] = ()
    classifier: str = ""

    def xml(self) -> str:
        exclusions = "".join(
            "<exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion>".format(
                *exclude.split(":")
            )
            for exclude in self.excludes
        )
        classifier = f"<classifier>{self.classifier}</classifier>" if self.classifier else ""
        return (
            f"<dependency><groupId>{self.group}</groupId><artifactId>{self.artifact}</artifactId>"
            f"<version>{self.version}</version>{classifier}<exclusions>{exclusions}</exclusions></dependency>"
        )


def run_maven(arguments: Sequence[str], directory: Path) -> None:
    """Run `mvn` in `directory`; raises `ToolFailedError` with its output when it fails."""
    program = shutil.which("mvn")
    if program is None:
        raise MissingToolError("Maven is missing: install it (Debian: `apt install maven`).")
    environment = dict(os.environ)
    environment.setdefault("JAVA_HOME", str(java_home(17)))
    command = [program, "--quiet", "--batch-mode", *arguments]
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        output = (done.stdout + done.stderr)[-4000:]
        raise ToolFailedError(f"`{' '.join(command)}` failed:\n{output}")


def class_path(name: str, dependencies: Sequence[Dependency]) -> Path:
    """A folder with the jars of these artifacts and all they need at run time."""
    pom = _pom(dependencies)
    digest = hashlib.sha256(pom.encode()).hexdigest()[:12]

    def resolve(target: Path) -> None:
        (target / "pom.xml").write_text(pom)
        goal = f"{_DEPENDENCY_PLUGIN}:copy-dependencies"
        run_maven([goal, "-DincludeScope=runtime", f"-DoutputDirectory={target}/lib"], target)

    return cached_directory(f"maven/{name}-{digest}", resolve) / "lib"


def artifact(coordinates: str) -> Path:
    """One file by `group:artifact:version[:type[:classifier]]`, without what it depends on."""
    name = coordinates.split(":")[1]
    folder = cached_directory(_folder(coordinates), lambda target: _copy(coordinates, target))
    files = sorted(folder.iterdir())
    if len(files) != 1:
        raise ToolFailedError(
            f"{folder} should hold the one file of {name}; delete it and try again."
        )
    return files[0]


def unpacked(coordinates: str) -> Path:
    """A folder with what is in an archive (`group:artifact:version:tar.gz:classifier`)."""

    def unpack(target: Path) -> None:
        with tempfile.TemporaryDirectory(dir=target) as beside:
            _copy(coordinates, Path(beside))
            (archive,) = Path(beside).iterdir()
            shutil.unpack_archive(archive, target, filter="data")

    return cached_directory(_folder(coordinates), unpack)


def _folder(coordinates: str) -> str:
    group, rest = coordinates.split(":", 1)
    return f"maven/{group}.{rest.replace(':', '-')}"


def _copy(coordinates: str, target: Path) -> None:
    goal = f"{_DEPENDENCY_PLUGIN}:copy"
    run_maven([goal, f"-Dartifact={coordinates}", f"-DoutputDirectory={target}"], target)


def _pom(dependencies: Sequence[Dependency]) -> str:
    listed = "".join(dependency.xml() for dependency in dependencies)
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>local</groupId><artifactId>class-path</artifactId><version>1</version>"
        f"<packaging>pom</packaging><dependencies>{listed}</dependencies></project>\n"
    )
