"""A Spark session for short runs: two tasks at a time, quick to compile, quiet."""

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pyspark
from pyspark.sql import SparkSession

from spark_jobs.dependency_versions import RELEASES as KNOWN
from spark_jobs.dependency_versions import DependencyVersions
from spark_jobs.jars import fetch
from spark_jobs.session import create_session
from tests.support.servers.cache import cached_directory
from tests.support.servers.iceberg_rest import SQLITE
from tests.support.servers.java import java_home
from tests.support.servers.java_sources import compiled
from tests.support.servers.maven import artifact

RELEASES = {each.spark: each for each in KNOWN}


def installed_versions() -> DependencyVersions:
    """The versions for the installed `pyspark`."""
    return RELEASES[pyspark.__version__]


_LOG4J2 = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c: %m%n%ex{5}
# With deletion vectors Delta filters by a column that Parquet files lack, and reports it.
logger.delta.name = org.apache.spark.sql.delta.DeltaParquetFileFormat
logger.delta.level = off
"""

# Alone, the first compiler has 48 MiB for its code: Spark fills them and is interpreted from then.
# Until Spark's classes are loaded, each growth of the metaspace would collect the whole heap.
_JVM_OPTIONS = (
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m "
    "-XX:MetaspaceSize=256m -Xms512m"
)
_LOCAL_FILES = Path(__file__).parents[1] / "java" / "PlainLocalFiles.java"


def fetched_jars() -> Path:
    """The jars that `pyspark` lacks, fetched once and cached."""
    environment = {**os.environ, "JAVA_HOME": str(java_home(17))}
    versions = installed_versions()

    def fetch_all(target: Path) -> None:
        fetch(target, versions, environment=environment)

    releases = (versions.spark, versions.delta, versions.iceberg, versions.spark_avro)
    return cached_directory(f"spark-jars-{'-'.join(map(str, releases))}", fetch_all)


def quiet_java_options(folder: Path) -> str:
    """Options of the JVM for a quick and quiet run. Not for measurements."""
    log4j2 = folder / "log4j2.properties"
    log4j2.write_text(_LOG4J2)
    return f"-Dlog4j2.configurationFile=file:{log4j2} {_JVM_OPTIONS}"


INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Spark compiles no expressions: for a few rows that costs a quarter of a job. Jobs in processes of
their own and the large runs compile, as in production."""


def quick_settings() -> dict[str, str]:
    """Settings by which Hadoop starts no process for each local file, and SQLite's driver."""
    classes = compiled([_LOCAL_FILES], Path(pyspark.__file__).parent / "jars")
    return {
        "spark.driver.extraClassPath": f"{classes}{os.pathsep}{artifact(SQLITE)}",
        "spark.hadoop.fs.file.impl": "cdcsidecar.PlainLocalFiles",
        "spark.hadoop.fs.AbstractFileSystem.file.impl": "cdcsidecar.PlainLocalFiles$Context",
    }


def local_session(
    jars: Path,
    java_options: str,
    warehouse: Path,
    memory: str = "1g",
    settings: Mapping[str, str] = MappingProxyType({}),
) -> SparkSession:
    """A session with `local[2]`, two shuffle partitions, Kafka, Delta and Iceberg (in `lake`).

    It has the driver of SQLite, for a JDBC catalog.
    """
    os.environ["JAVA_HOME"] = str(java_home(17))
    return create_session(
        "tests",
        jars=jars,
        master="local[2]",
        settings={
            "spark.driver.memory": memory,
            "spark.driver.extraJavaOptions": java_options,
            **quick_settings(),
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(warehouse),
            "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.lake.type": "hadoop",
            "spark.sql.catalog.lake.warehouse": str(warehouse / "lake"),
            **settings,
        },
    )


def descriptions(session: SparkSession) -> list[str | None]:
    """The descriptions of all jobs in Spark's UI, the newest first."""
    listed = session.sparkContext._jsc.sc().statusStore().jobsList(None)
    found = (listed.apply(at).description() for at in range(listed.size()))
    return [each.get() if each.isDefined() else None for each in found]
