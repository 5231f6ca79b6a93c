"""Jobs in separate processes that are killed or stopped, and restarted.

The other kill tests simulate a crash in the process of the test.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.dedupe.job import REPLICAS_FILE
from spark_jobs.mongo_reconcile import job as mongo_job
from spark_jobs.mongo_reconcile.document_table import DocumentTable
from spark_jobs.mongo_reconcile.options import MongoJobOptions
from spark_jobs.reconcile import job as reconcile_job
from spark_jobs.reconcile.options import ReconcileOptions
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store import VersionStore
from tests.oracle.reference.recordings import OWN
from tests.support.servers.kafka import KafkaBroker
from tests.support.spark.forms import expected, shown
from tests.support.spark.job_process import JobProcess
from tests.support.spark.mongo_topic import Collection
from tests.support.spark.recorded import (
    NODES,
    algebra_of,
    identity,
    of_busiest_tables,
    three_copies,
)
from tests.support.spark.records import Record, send

RECORDING = "5.0/three-nodes"
SCHEMA = OWN / RECORDING / "node1" / "schema.cql"
TABLES = 1
BATCHES = 3
KILLED_IN = 1
LATER_S = 4_000_000_000
STORE = ("buckets=1", "compact.after.files=1", f"schema.file={SCHEMA}")

StartJob = Callable[..., JobProcess]
"""Creates the job of a module; the job reads the topic of the test in `batches` parts."""

pytestmark = pytest.mark.servers


@pytest.fixture
def job(
    broker: KafkaBroker, topic_prefix: str, jars_directory: Path, java_options: str, tmp_path: Path
) -> StartJob:
    def process(module: str, records: list[Record], *settings: str) -> JobProcess:
        given = (f"kafka.bootstrap.servers={broker.bootstrap}", f"topics={topic_prefix}")
        limit = f"max.offsets.per.trigger={-(-len(records) // BATCHES)}"
        own = [*given, limit, *settings]
        return JobProcess(f"spark_jobs.{module}", tmp_path, jars_directory, java_options, own)

    return process


@pytest.fixture
def to_topic(broker: KafkaBroker, topic_prefix: str) -> Callable[[list[Record]], None]:
    """Send records to the topic of the test."""
    return lambda records: send(broker, [replace(each, topic=topic_prefix) for each in records])


def recorded() -> list[Record]:
    return of_busiest_tables(three_copies([RECORDING]), TABLES)


def assert_stored(spark: SparkSession, table: Path, records: list[Record]) -> None:
    tables = algebra_of(records)
    store, schema = VersionStore(spark, str(table), buckets=1), read_schema(SCHEMA)
    assert shown(store, schema, LATER_S, tables.by_id) == expected(tables, LATER_S)


def test_reconcile_killed_after_a_write_stores_events_once(
    job: StartJob, to_topic: Callable[[list[Record]], None], spark: SparkSession, tmp_path: Path
) -> None:
    """The events of the micro-batch are stored, but Spark has not committed it."""
    records, table = recorded(), tmp_path / "versions"
    to_topic(records)
    killed = job("reconcile", records, f"output={table}", *STORE)
    killed.start()
    killed.kill_when(lambda: killed.has_written(KILLED_IN, table), "an append")
    assert not killed.has_committed(KILLED_IN)
    reconcile_job.run(spark, killed.options(ReconcileOptions))
    assert killed.has_committed(BATCHES - 1)
    assert_stored(spark, table, records)


@pytest.mark.slow
def test_continuous_reconcile_stops_on_sigterm(
    job: StartJob, to_topic: Callable[[list[Record]], None], spark: SparkSession, tmp_path: Path
) -> None:
    records, table, stats = recorded(), tmp_path / "versions", tmp_path / "stats.json"
    early, late = records[: len(records) // 2], records[len(records) // 2 :]
    continuous = ("trigger=processing-time", "trigger.interval.ms=0", f"metrics.json.file={stats}")
    running = job("reconcile", records, f"output={table}", *continuous, *STORE)

    def has_read(count: int) -> bool:
        return stats.exists() and json.loads(stats.read_text())["records"] == count

    to_topic(early)
    running.start()
    running.wait_until(lambda: has_read(len(early)), "the first records to be read")
    to_topic(late)
    running.wait_until(lambda: has_read(len(records)), "later records to be read")
    running.stop()
    assert f"{len(records)} records in " in running.log.read_text()
    assert_stored(spark, table, records)


@pytest.mark.slow
def test_mongo_reconcile_kill_in_micro_batch_loses_no_document(
    job: StartJob, to_topic: Callable[[list[Record]], None], spark: SparkSession, tmp_path: Path
) -> None:
    collection = Collection()
    for number in range(40):
        collection.tick(is_new_second=number % 3 == 0)
        collection.write(str(number % 7), f'{{"n": {number}}}')
        if number % 5 == 0:
            collection.tick(is_new_second=False)
            collection.delete(str(number % 7), has_tombstone=True)
    to_topic(collection.records)
    killed = job("mongo_reconcile", collection.records, f"table.path={tmp_path / 'table'}")
    killed.start()
    killed.kill_when(lambda: killed.has_begun(KILLED_IN), "a micro-batch")
    assert not killed.has_committed(KILLED_IN)
    mongo_job.run(spark, killed.options(MongoJobOptions))
    assert killed.has_committed(BATCHES - 1)
    rows = DocumentTable(spark, str(tmp_path / "table")).current("shop.cust").collect()
    assert {key: document for key, document, _ in rows} == collection.documents


@pytest.mark.slow
def test_dedupe_writes_every_event_once_over_two_kills(
    job: StartJob, to_topic: Callable[[list[Record]], None], spark: SparkSession, tmp_path: Path
) -> None:
    records = three_copies([RECORDING, "5.0/random", "5.0/deletions"])
    events = Counter(set(map(identity, records)))
    to_topic(records)
    table, stats = tmp_path / "table", tmp_path / "stats.json"
    killed = job("dedupe", records, f"sink.delta.path={table}", f"metrics.json.file={stats}")
    for number in (0, 1):
        killed.start()
        killed.kill_when(partial(killed.has_committed, number), f"micro-batch {number}")
    killed.run_to_end()
    rows = spark.read.format("delta").load(str(table)).collect()
    assert len(records) > 2 * len(events)
    assert Counter((bytes(row.id), row.value is None) for row in rows) == events
    # Replica copies differ in node and time, so a row must equal one of them.
    sent = {(identity(record)[0], record.value) for record in records}
    assert {(bytes(row.id), row.value and bytes(row.value)) for row in rows} <= sent
    assert "replica copies per event" in killed.log.read_text()
    assert stats.exists()
    assert all(node in (tmp_path / "checkpoint" / REPLICAS_FILE).read_text() for node in NODES)
