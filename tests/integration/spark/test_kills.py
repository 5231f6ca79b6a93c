"""Jobs that are killed during a micro-batch and started again."""

from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from pyspark.sql import SparkSession

from spark_jobs.mongo_reconcile import job as mongo_job
from spark_jobs.mongo_reconcile.document_table import DocumentTable
from spark_jobs.mongo_reconcile.options import MongoJobOptions
from spark_jobs.reconcile import job as reconcile_job
from spark_jobs.reconcile.options import ReconcileOptions
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store import VersionStore
from tests.oracle.algebra import Tables
from tests.oracle.reference.recordings import OWN
from tests.support.servers.kafka import KafkaBroker
from tests.support.spark.forms import expected, shown
from tests.support.spark.job_process import JobProcess
from tests.support.spark.mongo_topic import TOPIC, Collection
from tests.support.spark.recorded import three_copies
from tests.support.spark.records import Record, send

RECORDING = "5.0/three-nodes"
SCHEMA = OWN / RECORDING / "node1" / "schema.cql"
BATCHES = 3
KILLED_IN = 1
BUCKETS = 2
LATER_S = 4_000_000_000

pytestmark = pytest.mark.servers


def sent(broker: KafkaBroker, topic: str, records: list[Record]) -> list[str]:
    """Send records to the topic. Returns the settings of a job that reads them."""
    send(broker, [replace(record, topic=topic) for record in records])
    return [
        f"kafka.bootstrap.servers={broker.bootstrap}",
        f"topics={topic}",
        f"max.offsets.per.trigger={-(-len(records) // BATCHES)}",
    ]


def test_reconcile_killed_after_a_write(
    broker: KafkaBroker,
    spark: SparkSession,
    jars_directory: Path,
    java_options: str,
    tmp_path: Path,
) -> None:
    """The events of the micro-batch are stored, but Spark has not committed it."""
    records = three_copies([RECORDING])
    table = tmp_path / "versions"
    settings = [
        *sent(broker, "reconcile", records),
        f"output={table}",
        f"buckets={BUCKETS}",
        "compact.after.files=1",
        f"schema.file={SCHEMA}",
    ]
    job = JobProcess("spark_jobs.reconcile", tmp_path, jars_directory, java_options, settings)
    job.start()
    job.kill_when(lambda: job.has_written(KILLED_IN, table), "an append")
    assert not job.has_committed(KILLED_IN)
    reconcile_job.run(spark, job.options(ReconcileOptions))
    assert job.has_committed(BATCHES - 1)
    tables = Tables()
    for record in records:
        tables.apply(orjson.loads(record.value or b""))
    store = VersionStore(spark, str(table), buckets=BUCKETS)
    assert shown(store, read_schema(SCHEMA), LATER_S) == expected(tables, LATER_S)


def test_mongo_reconcile_killed_during_a_micro_batch(
    broker: KafkaBroker,
    spark: SparkSession,
    jars_directory: Path,
    java_options: str,
    tmp_path: Path,
) -> None:
    collection = Collection()
    for number in range(40):
        collection.tick(is_new_second=number % 3 == 0)
        collection.write(str(number % 7), f'{{"n": {number}}}')
        if number % 5 == 0:
            collection.tick(is_new_second=False)
            collection.delete(str(number % 7), has_tombstone=True)
    settings = [*sent(broker, TOPIC, collection.records), f"table.path={tmp_path / 'table'}"]
    module = "spark_jobs.mongo_reconcile"
    job = JobProcess(module, tmp_path, jars_directory, java_options, settings)
    job.start()
    job.kill_when(lambda: job.has_begun(KILLED_IN), "a micro-batch")
    assert not job.has_committed(KILLED_IN)
    mongo_job.run(spark, job.options(MongoJobOptions))
    assert job.has_committed(BATCHES - 1)
    rows = DocumentTable(spark, str(tmp_path / "table")).current("shop.cust").collect()
    assert {key: document for key, document, _ in rows} == collection.documents
