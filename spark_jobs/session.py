"""The Spark session of a job, with the settings that matter.

What the user gives wins: `spark-submit --conf`, `spark-defaults.conf`, then the job's own `spark.*`
options, then what stands here. With `spark-submit` the jars come with the cluster or `--jars`;
elsewhere they are taken from a folder (`spark_jobs.jars`).
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from spark_jobs.errors import SetupError
from spark_jobs.jars import jars_in

SETTINGS: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # The default store keeps a quarter of a kilobyte of heap for each key.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Rows that come sorted are gathered as they come, not hashed and sorted once more.
    "spark.sql.execution.replaceHashWithSortAgg": "true",
    "spark.sql.session.timeZone": "UTC",
}
"""Every job needs these."""

LOCAL_SETTINGS: Mapping[str, str] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Delta reads its own log in 50 pieces by default, each of them a task.
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.shuffle.partitions": "4",
}
"""On one machine, besides."""

_CLASSES = {
    "the Kafka source": "org.apache.spark.sql.kafka010.KafkaSourceProvider",
    "Delta Lake": "io.delta.sql.DeltaSparkSessionExtension",
}


def create_session(
    name: str,
    *,
    settings: Mapping[str, str] | None = None,
    jars: Path | None = None,
    master: str | None = None,
) -> SparkSession:
    """The session of this process, made when there is none.

    `settings` are `spark.*` names. `master` counts where nothing else names one; without any it
    is `local[*]`. Raises `SetupError` when `jars` lacks one, or the session finds no Kafka source
    or no Delta Lake.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    conf = _given()
    wanted = dict(settings or {})
    conf.setIfMissing("spark.master", wanted.pop("spark.master", master or "local[*]"))
    conf.setIfMissing("spark.app.name", name)
    if jars is not None:
        conf.setIfMissing("spark.jars", ",".join(str(path.resolve()) for path in jars_in(jars)))
    local = (conf.get("spark.master") or "").startswith("local")
    for key, value in {**SETTINGS, **(LOCAL_SETTINGS if local else {}), **wanted}.items():
        conf.setIfMissing(key, value)
    session = SparkSession.builder.config(conf=conf).getOrCreate()
    _require_classes(session)
    return session


def session_of_job(session: SparkSession, partitions: int | None) -> SparkSession:
    """A session with settings of its own; `partitions` are those of state and exchanges."""
    session = session.newSession()
    if partitions is not None:
        session.conf.set("spark.sql.shuffle.partitions", partitions)
    return session


def _given() -> SparkConf:
    """What the user gave before this process began."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        # Under spark-submit the JVM runs already and knows `--conf`.
        SparkContext._ensure_initialized()
    return SparkConf()


def _require_classes(session: SparkSession) -> None:
    jvm = session.sparkContext._jvm
    assert jvm is not None
    for what, name in _CLASSES.items():
        try:
            jvm.org.apache.spark.util.Utils.classForName(name, False, False)
        except Exception as error:
            raise SetupError(
                f"Spark finds no jar of {what}: fetch the jars by `python -m spark_jobs.jars DIR` "
                "and name the folder by `jars.dir=DIR`, or give them to spark-submit by `--jars`."
            ) from error
