"""Creates the Spark session of a job, with the settings that it needs.

Settings take precedence in this order: `spark-submit --conf` and `spark-defaults.conf`, the job's
`spark.*` options, then the defaults in this module. With `spark-submit`, the cluster or `--jars`
provides the jars. Otherwise, they come from a folder (`spark_jobs.jars`).
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from spark_jobs.dependency_versions import versions_for
from spark_jobs.errors import SetupError
from spark_jobs.jars import jars_in
from spark_jobs.options.job import SessionOptions

SETTINGS: Mapping[str, str] = {
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # The default state store needs about 250 bytes of heap for each key.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Old state can wait for the next records, instead of an empty micro-batch with its commit.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # A micro-batch generates more classes than the default limit of 100. If the cache does not
    # contain all of them, each batch compiles them again.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # Sorted input is aggregated in order, without hashing and sorting again.
    "spark.sql.execution.replaceHashWithSortAgg": "true",
    # By default, a batch for Python contains 10,000 records, whatever their size.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 << 20),
    "spark.sql.session.timeZone": "UTC",
}

LOCAL_SETTINGS: Mapping[str, str] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Delta reads its transaction log in 50 tasks by default.
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.shuffle.partitions": "4",
    # With few partitions, running each stage as a separate job costs more than it saves.
    "spark.sql.adaptive.enabled": "false",
}

_DELTA = "io.delta.sql.DeltaSparkSessionExtension"
_ICEBERG = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
_REQUIRED = {
    "the Kafka source": "org.apache.spark.sql.kafka010.KafkaSourceProvider",
    "Delta Lake": _DELTA,
}


def create_session(
    name: str,
    *,
    settings: Mapping[str, str] | None = None,
    jars: Path | None = None,
    master: str | None = None,
) -> SparkSession:
    """Get the session of this process, or create it.

    The names in `settings` begin with `spark.`. `master` applies if no setting specifies one, and
    defaults to `local[*]`. The session gets Iceberg's extension if its jar is available. Raises
    `SetupError` if `jars` is incomplete, if the session has no Kafka source or no Delta Lake, or if
    the environment or `settings` request Spark Connect.
    """
    _require_classic(settings or {})
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    conf = _read_submitted_conf()
    wanted = dict(settings or {})
    conf.setIfMissing("spark.master", wanted.pop("spark.master", master or "local[*]"))
    conf.setIfMissing("spark.app.name", name)
    if jars is not None:
        found = jars_in(jars, versions_for(pyspark.__version__))
        conf.setIfMissing("spark.jars", ",".join(str(path.resolve()) for path in found))
    local = (conf.get("spark.master") or "").startswith("local")
    for key, value in {**SETTINGS, **(LOCAL_SETTINGS if local else {}), **wanted}.items():
        conf.setIfMissing(key, value)
    # Starts the JVM, because only it knows the jars of spark-submit and of the distribution.
    SparkContext._ensure_initialized(conf=conf)
    extensions = (_DELTA, _ICEBERG) if _has_class(_ICEBERG) else (_DELTA,)
    conf.setIfMissing("spark.sql.extensions", ",".join(extensions))
    session = SparkSession.builder.config(conf=conf).getOrCreate()
    for what, name in _REQUIRED.items():
        if not _has_class(name):
            raise SetupError(
                f"Spark has no jar for {what}. Fetch the jars with `python -m spark_jobs.jars DIR` "
                "and set `jars.dir=DIR`, or pass them to spark-submit with `--jars`."
            )
    return session


def create_job_session(name: str, options: SessionOptions) -> SparkSession:
    """Get or create the session of this process for a job. Raises `SetupError`."""
    return create_session(name, settings=options.spark_settings(), jars=options.jars_directory)


def require_iceberg(session: SparkSession) -> None:
    """Raise `SetupError` if the session cannot write Iceberg tables."""
    if _ICEBERG not in (session.conf.get("spark.sql.extensions") or ""):
        raise SetupError(
            f"Spark {session.version} has no jar for Iceberg, or `spark.sql.extensions` lacks "
            f"{_ICEBERG}. Fetch the jars with `python -m spark_jobs.jars DIR`. Iceberg supports "
            "Spark 4.0 and 4.1; with Spark 4.2, use Delta tables."
        )


def isolate_session(session: SparkSession, partitions: int | None) -> SparkSession:
    """Create a session with separate settings. `partitions` sets its shuffle partitions."""
    session = session.newSession()
    if partitions is not None:
        session.conf.set("spark.sql.shuffle.partitions", partitions)
    return session


def _require_classic(settings: Mapping[str, str]) -> None:
    if "SPARK_REMOTE" in os.environ or "spark.remote" in settings or is_remote():
        raise SetupError(
            "A job needs a classic Spark session, but `SPARK_REMOTE` or `spark.remote` points to a "
            "Spark Connect server. Remove it, and start the job with spark-submit or with "
            "`spark.master`."
        )


def _read_submitted_conf() -> SparkConf:
    """The settings of spark-submit and of `spark-defaults.conf`."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        # Under spark-submit the JVM already runs and has the values of `--conf`.
        SparkContext._ensure_initialized()
    return SparkConf()


def _has_class(name: str) -> bool:
    jvm = SparkContext._jvm
    assert jvm is not None
    return bool(jvm.org.apache.spark.util.Utils.classIsLoadable(name))
