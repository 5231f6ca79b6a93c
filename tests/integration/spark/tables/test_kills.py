"""The job is killed between the commits of a batch and restarted: each change is applied once."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.reconcile import VersionStore, read_schema, table_at
from spark_jobs.tables.commit_position import Part
from spark_jobs.tables.job import run
from spark_jobs.tables.options import TablesJobOptions
from spark_jobs.tables.target import open_table, read_progress, read_table
from tests.oracle.reference.recordings import OWN
from tests.support.servers.kafka import KafkaBroker
from tests.support.spark.job_process import JobProcess
from tests.support.spark.recorded import three_copies
from tests.support.spark.records import send
from tests.support.spark.typed_tables import FORMATS, catalog_settings

RECORDING = "5.0/three-nodes"
SCHEMA = OWN / RECORDING / "node1" / "schema.cql"
TABLE = "random.t2"
BUCKETS = 2

pytestmark = [pytest.mark.servers, pytest.mark.slow]


def metadata(tables: Path, table_format: str) -> list[str]:
    """Metadata of each version of the table, oldest first. `tables` is the target's folder."""
    keyspace, name = TABLE.split(".")
    if table_format == "delta":
        found = (tables / keyspace / name / "_delta_log").glob("*.json")
    else:
        found = (tables / keyspace / name / "metadata").glob("v*.metadata.json")
    return [path.read_text() for path in sorted(found, key=lambda path: path.stat().st_mtime_ns)]


def names(topic: str, tables: Path, table_format: str) -> bool:
    """Whether a commit of the table contains offsets of the topic."""
    return any(f'\\"{topic}\\"' in text for text in metadata(tables, table_format))


def is_half_written(tables: Path, table_format: str) -> Callable[[], bool]:
    """Whether the updates of a batch are committed, but not its new rows."""

    def delta() -> bool:
        newest = metadata(tables, "delta")[-1]
        return f'\\"part\\":\\"{Part.MERGE}\\"' in newest

    def iceberg() -> bool:
        refs = json.loads(metadata(tables, "iceberg")[-1] or "{}").get("refs", {})
        main = refs.get("main", {}).get("snapshot-id")
        return any(ref["snapshot-id"] != main for ref in refs.values())

    return {"delta": delta, "iceberg": iceberg}[table_format]


@pytest.mark.parametrize("table_format", FORMATS)
def test_job_killed_between_commits_applies_changes_once(
    broker: KafkaBroker,
    spark: SparkSession,
    jars_directory: Path,
    java_options: str,
    tmp_path: Path,
    topic_prefix: str,
    table_format: str,
) -> None:
    topic = f"{topic_prefix}-agents"
    records = [
        replace(record, topic=topic)
        for record in three_copies([RECORDING])
        if record.topic == f"shop.{TABLE}"
    ]
    tables = tmp_path / "tables"
    target = {"delta": str(tables), "iceberg": f"lake.{tmp_path.name}"}[table_format]
    # The catalog of the session that replaces the killed job.
    catalog = {name: spark.conf.get(name) or "" for name in catalog_settings(tmp_path)}
    if table_format == "iceberg":
        tables = Path(catalog["spark.sql.catalog.lake.warehouse"]) / tmp_path.name
    settings = {
        "kafka.bootstrap.servers": broker.bootstrap,
        "topics": topic,
        "tables": TABLE,
        "output": tmp_path / "versions",
        "buckets": BUCKETS,
        "schema.file": SCHEMA,
        "format": table_format,
        "target": target,
        "iceberg.format.version": 3,
        **catalog,
    }

    def job(**trigger: str) -> JobProcess:
        lines = [f"{name}={value}" for name, value in {**settings, **trigger}.items()]
        return JobProcess("spark_jobs.tables", tmp_path, jars_directory, java_options, lines)

    send(broker, records[: len(records) // 2])
    killed = job(trigger="processing-time", **{"trigger.interval.ms": "100"})
    killed.start()
    killed.wait_until(lambda: names(topic, tables, table_format), "the first batch")
    send(broker, records[len(records) // 2 :])
    killed.kill_when(is_half_written(tables, table_format), "the first half of a batch")
    options = job().options(TablesJobOptions)
    run(spark, options, stop=Event())

    progress = read_progress(open_table(spark, options, TABLE))
    assert progress.complete is not None
    assert progress.merged is None
    assert progress.complete.offsets[topic]
    schema = read_schema(SCHEMA)
    store = VersionStore(spark, str(tmp_path / "versions"), buckets=BUCKETS)
    expected = table_at(store, schema, schema.table(TABLE), progress.complete.second)
    actual = read_table(spark, options, TABLE)
    columns = [name for name in expected.columns if name != "cdc_row_id"]
    assert rows(actual.select(*columns)) == rows(expected.select(*columns))
    assert actual.count() > 0
    if table_format == "iceberg":
        assert '"format-version":3' in metadata(tables, "iceberg")[-1]


def rows(frame: DataFrame) -> list[str]:
    return sorted(repr(row) for row in frame.collect())
