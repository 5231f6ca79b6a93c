"""A continuous job that stops on request."""

import json
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from pyspark.sql import SparkSession

from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store import VersionStore
from tests.oracle.algebra import Tables
from tests.oracle.reference.recordings import OWN
from tests.support.servers.kafka import KafkaBroker
from tests.support.spark.forms import expected, shown
from tests.support.spark.job_process import JobProcess
from tests.support.spark.recorded import three_copies
from tests.support.spark.records import send

RECORDING = "5.0/three-nodes"
SCHEMA = OWN / RECORDING / "node1" / "schema.cql"
TOPIC = "continuous"
BUCKETS = 2
LATER_S = 4_000_000_000

pytestmark = pytest.mark.servers


def test_a_continuous_reconcile_stops_on_sigterm(
    broker: KafkaBroker,
    spark: SparkSession,
    jars_directory: Path,
    java_options: str,
    tmp_path: Path,
) -> None:
    records = [replace(each, topic=TOPIC) for each in three_copies([RECORDING])]
    early, late = records[: len(records) // 2], records[len(records) // 2 :]
    table, stats = tmp_path / "versions", tmp_path / "stats.json"
    settings = [
        f"kafka.bootstrap.servers={broker.bootstrap}",
        f"topics={TOPIC}",
        "trigger=processing-time",
        "trigger.interval.ms=0",
        f"output={table}",
        f"buckets={BUCKETS}",
        f"schema.file={SCHEMA}",
        f"metrics.json.file={stats}",
    ]

    def has_read(count: int) -> bool:
        return stats.exists() and json.loads(stats.read_text())["records"] == count

    send(broker, early)
    job = JobProcess("spark_jobs.reconcile", tmp_path, jars_directory, java_options, settings)
    job.start()
    job.wait_until(lambda: has_read(len(early)), "what is there")
    send(broker, late)
    job.wait_until(lambda: has_read(len(records)), "what comes")
    job.stop()
    assert f"{len(records)} records in " in job.log.read_text()
    tables = Tables()
    for record in records:
        tables.apply(orjson.loads(record.value or b""))
    store = VersionStore(spark, str(table), buckets=BUCKETS)
    assert shown(store, read_schema(SCHEMA), LATER_S) == expected(tables, LATER_S)
