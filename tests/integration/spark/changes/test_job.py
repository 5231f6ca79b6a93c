"""The job from the events of three replicas to topics and tables, over a kill and late copies."""

import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import orjson
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from spark_jobs.changes.job import run
from spark_jobs.changes.json_converter import json_bytes
from spark_jobs.changes.options import ChangesJobOptions
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.visible_rows import table_at
from tests.oracle.reference.recordings import OWN
from tests.support.servers.kafka import KafkaBroker, KafkaRecord
from tests.support.spark.job_process import JobProcess
from tests.support.spark.recorded import three_copies
from tests.support.spark.records import send

RECORDING = "5.0/three-nodes"
SCHEMA = OWN / RECORDING / "node1" / "schema.cql"
TABLES = ("random.t2", "random.t6")
"""Static columns, collections, user types, keys of several columns, ranges."""
SOURCE, PREFIX, BUCKETS, BATCHES = "agents", "c1", 2, 3
MODULE = "spark_jobs.changes"

pytestmark = pytest.mark.servers

Rows = dict[bytes, Mapping[str, Any]]


def folded(records: list[KafkaRecord]) -> Rows:
    """The rows after all changes. Each change follows the one before it."""
    rows: Rows = {}
    ids: dict[bytes, set[bytes]] = defaultdict(set)
    for record in records:
        assert record.key is not None
        if record.value is None:
            assert record.key not in rows
            continue
        event = orjson.loads(record.value)
        assert event["before"] == rows.pop(record.key, None)
        if event["after"] is not None:
            rows[record.key] = event["after"]
        identity = dict(record.headers)["cdc.id"]
        assert identity not in ids[record.key]
        ids[record.key].add(identity)
    return rows


def stored(spark: SparkSession, folder: Path, name: str) -> list[Mapping[str, Any]]:
    """The rows of a table in the store, in the form of the messages."""
    schema = read_schema(SCHEMA)
    store = VersionStore(spark, str(folder / "store"), buckets=BUCKETS)
    rows = table_at(store, schema, schema.table(name), int(time.time()))
    row = F.struct(*rows.columns)
    data_type = StructType(rows.schema.fields)
    found = rows.select(json_bytes(row, data_type, None).alias("row")).collect()
    return [orjson.loads(each.row) for each in found]


def as_set(rows: Any) -> set[bytes]:
    return {orjson.dumps(row, option=orjson.OPT_SORT_KEYS) for row in rows}


def test_a_job_that_is_killed_and_reads_late_copies(
    broker: KafkaBroker,
    spark: SparkSession,
    jars_directory: Path,
    java_options: str,
    tmp_path: Path,
) -> None:
    wanted = {f"shop.{name}" for name in TABLES}
    records = [
        replace(record, topic=SOURCE)
        for record in three_copies([RECORDING])
        if record.topic in wanted
    ]
    send(broker, records)
    topics = [f"{PREFIX}.{name}" for name in TABLES]
    for topic in topics:
        broker.create_topic(topic, 2)
    settings = {
        "kafka.bootstrap.servers": broker.bootstrap,
        "topics": SOURCE,
        "max.offsets.per.trigger": str(-(-len(records) // BATCHES)),
        "output": str(tmp_path / "store"),
        "buckets": str(BUCKETS),
        "compact.after.files": "1",
        "schema.file": str(SCHEMA),
        "tables": ",".join(TABLES),
        "topic.prefix": PREFIX,
        "sink": "kafka,delta",
        "changes.table": f"{tmp_path}/{{keyspace}}/{{table}}",
    }
    given = [f"{name}={value}" for name, value in settings.items()]
    job = JobProcess(MODULE, tmp_path, jars_directory, java_options, given)
    job.start()
    job.kill_when(lambda: bool(broker.consume_all(*topics)), "a change")
    options = job.options(ChangesJobOptions)
    run(spark, options, stop=Event())
    for name, topic in zip(TABLES, topics, strict=True):
        sent = broker.consume_all(topic)
        assert as_set(folded(sent).values()) == as_set(stored(spark, tmp_path, name))
        table = spark.read.format("delta").load(str(tmp_path.joinpath(*name.split("."))))
        in_table = [bytes(row.id) for row in table.select("id").collect()]
        assert sorted(in_table) == sorted(
            dict(record.headers)["cdc.id"] for record in sent if record.value is not None
        )
    before = len(broker.consume_all(*topics))
    send(broker, records)
    run(spark, options, stop=Event())
    assert len(broker.consume_all(*topics)) == before
