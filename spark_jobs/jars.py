"""Fetches the jars that `pyspark` does not contain: `python -m spark_jobs.jars DIR`.

With these jars in a folder, a job starts without network access. You can also copy them into an
image (`spark.jars`, or the folder `jars` of a Spark distribution).
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click

from sidecar.errors import SidecarError
from spark_jobs.dependency_versions import TESTED, Artifact, DependencyVersions, versions_for
from spark_jobs.errors import SetupError

_RELEASE = re.compile(r"\d+\.\d+[\w.-]*")
_NONE = "none"
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin"
_PLUGIN_VERSION = "3.6.1"
_RELEASES = {
    "delta": "Release of Delta Lake.",
    "iceberg": "Release of Apache Iceberg. Use `none` if it does not support your release of "
    "Spark, such as 4.2.",
    "spark_avro": "Release of spark-avro; its minor version must match --spark.",
    "unity_catalog": "Release of Unity Catalog that Delta Lake requires.",
    "kafka_clients": "Release of Kafka's Java client.",
    "kafka_token_provider": "Release of the token provider. For delegation tokens, use the release "
    "of --spark.",
}
"""The releases that a user can choose in addition to Spark's, with their help texts."""


def fetch(
    directory: Path,
    versions: DependencyVersions = TESTED,
    *,
    environment: Mapping[str, str] | None = None,
) -> list[Path]:
    """Fetch the jars of these versions into `directory`.

    Existing jars stay unchanged. `environment` is Maven's environment; it defaults to this
    process's environment. Raises `SetupError` if Maven is missing or fails.
    """
    program = shutil.which("mvn")
    if program is None:
        raise SetupError(
            "Maven (`mvn`) is missing. Install it, for example with `apt install maven`."
        )
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pom.xml").write_text(_pom(versions, directory.resolve()), encoding="utf-8")
        command = [program, "--quiet", "--batch-mode", f"{_PLUGIN}:{_PLUGIN_VERSION}:copy"]
        done = subprocess.run(
            command,
            cwd=folder,
            env=dict(os.environ if environment is None else environment),
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        output = (done.stdout + done.stderr).strip()[-2000:]
        raise SetupError(
            f"Maven could not fetch the jars into {directory}. Correct the cause that it reports, "
            f"and run the command again:\n{output}"
        )
    return jars_in(directory, versions)


def jars_in(directory: Path, versions: DependencyVersions = TESTED) -> list[Path]:
    """Find the jars in a folder, with these versions or else in the only release present.

    The jars of Avro and Iceberg are optional. Raises `SetupError` for other missing jars.
    """
    required = {each.file_name: _jar(directory, each) for each in versions.required_artifacts()}
    missing = [name for name, path in required.items() if path is None]
    if missing:
        raise SetupError(
            f"{directory} has no {', '.join(missing)}. Run `python -m spark_jobs.jars --spark "
            f"{versions.spark} {shlex.quote(str(directory))}`."
        )
    optional = [_jar(directory, each) for each in versions.optional_artifacts()]
    return [path for path in (*required.values(), *optional) if path is not None]


def _jar(directory: Path, artifact: Artifact) -> Path | None:
    named = directory / artifact.file_name
    if named.is_file():
        return named
    others = list(directory.glob(f"{artifact.name}-*.jar"))
    return others[0] if len(others) == 1 else None


def _pom(versions: DependencyVersions, directory: Path) -> str:
    # Without dependencies, Maven reads no parent POM, so it contacts no other repository.
    items = "".join(
        f"<artifactItem><groupId>{each.group}</groupId><artifactId>{each.name}</artifactId>"
        f"<version>{each.version}</version></artifactItem>"
        for each in versions.artifacts()
    )
    group, name = _PLUGIN.split(":")
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>local</groupId><artifactId>spark-jars</artifactId><version>1</version>"
        f"<packaging>pom</packaging><build><plugins><plugin><groupId>{group}</groupId>"
        f"<artifactId>{name}</artifactId><version>{_PLUGIN_VERSION}</version><configuration>"
        f"<outputDirectory>{directory}</outputDirectory><artifactItems>{items}</artifactItems>"
        "</configuration></plugin></plugins></build></project>\n"
    )


def _release(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is None or (parameter.name == "iceberg" and value == _NONE):
        return value
    if not _RELEASE.fullmatch(value):
        raise click.BadParameter(f"`{value}` is not a release. Use a number such as 4.1.3.")
    return value


def _release_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add an option for each release in `_RELEASES`, in order."""
    for name, text in reversed(_RELEASES.items()):
        flag = f"--{name.replace('_', '-')}"
        help_text = f"{text} Default: the release that fits --spark."
        command = click.option(flag, callback=_release, help=help_text)(command)
    return command


def _installed_spark() -> str:
    try:
        return version("pyspark")
    except PackageNotFoundError:
        return TESTED.spark


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--spark",
    default=_installed_spark,
    show_default="release of the installed pyspark",
    callback=_release,
    help="Release of Spark; must match `pyspark`.",
)
@_release_options
def main(directory: Path, spark: str, **releases: str | None) -> None:
    """Fetch the jars that the jobs need in addition to pyspark into DIRECTORY. Requires Maven."""
    chosen: dict[str, Any] = {name: value for name, value in releases.items() if value is not None}
    if chosen.get("iceberg") == _NONE:
        chosen["iceberg"] = None
    versions = replace(versions_for(spark), **chosen)
    try:
        for path in fetch(directory, versions):
            click.echo(str(path))
    except SidecarError as error:
        click.echo(f"spark_jobs.jars: {error}", err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
