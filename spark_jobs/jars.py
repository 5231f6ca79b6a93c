"""The jars beside `pyspark`, fetched once by Maven into a folder: `python -m spark_jobs.jars DIR`.

A folder needs no network when a job starts, and goes into an image as it is (`spark.jars`, or the
folder `jars` of a Spark distribution).
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

from sidecar.errors import SidecarError
from spark_jobs.errors import SetupError
from spark_jobs.versions import TESTED, Versions

_RELEASE = re.compile(r"\d+\.\d+[\w.-]*")
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin"
_PLUGIN_VERSION = "3.6.1"


def fetch(
    directory: Path, versions: Versions = TESTED, *, environment: Mapping[str, str] | None = None
) -> list[Path]:
    """Copy the jars of these versions (default: the tested ones) into `directory`.

    Jars that are there already are left alone. `environment` is Maven's, by default that of this
    process. Raises `SetupError` without Maven, or when a jar cannot be had.
    """
    program = shutil.which("mvn")
    if program is None:
        raise SetupError(
            "Maven (`mvn`) is missing: install it, for example by `apt install maven`."
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
        raise SetupError(f"Maven could not fetch the jars into {directory}:\n{output}")
    return jars_in(directory, versions)


def jars_in(directory: Path, versions: Versions = TESTED) -> list[Path]:
    """The jars of these versions in a folder. Raises `SetupError` naming those that are missing."""
    paths = [directory / each.file_name for each in versions.artifacts()]
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise SetupError(
            f"{directory} lacks {', '.join(missing)}: run `python -m spark_jobs.jars {directory}`."
        )
    return paths


def _pom(versions: Versions, directory: Path) -> str:
    # A pom without dependencies: no parent pom is read, so no repository but Maven's own is asked.
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


def _release(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if not _RELEASE.fullmatch(value):
        raise click.BadParameter(f"`{value}` is no release; it must be one such as 4.2.0.")
    return value


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--spark", default=TESTED.spark, callback=_release, help="Release of Spark, that of `pyspark`."
)
@click.option("--delta", default=TESTED.delta, callback=_release, help="Release of Delta Lake.")
@click.option(
    "--unity-catalog",
    default=TESTED.unity_catalog,
    callback=_release,
    help="The one Delta asks for.",
)
@click.option(
    "--kafka-clients", default=TESTED.kafka_clients, callback=_release, help="Kafka's Java client."
)
@click.option(
    "--kafka-token-provider",
    default=TESTED.kafka_token_provider,
    callback=_release,
    help="Spark's delegation tokens for Kafka; that of --spark where you use them.",
)
def main(
    directory: Path,
    spark: str,
    delta: str,
    unity_catalog: str,
    kafka_clients: str,
    kafka_token_provider: str,
) -> None:
    """Fetch the jars that the jobs need beside pyspark into DIRECTORY, with Maven."""
    versions = Versions(
        spark=spark,
        delta=delta,
        unity_catalog=unity_catalog,
        kafka_clients=kafka_clients,
        kafka_token_provider=kafka_token_provider,
    )
    try:
        for path in fetch(directory, versions):
            click.echo(str(path))
    except SidecarError as error:
        click.echo(f"spark_jobs.jars: {error}", err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
