"""The job from the events of three replicas to topics and tables, with a kill and late copies."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import orjson
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from spark_jobs.changes.converters import json_bytes
from spark_jobs.changes.handler import BatchJournal, BegunBatch
from spark_jobs.changes.job import run
from spark_jobs.changes.options import ChangesJobOptions
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.visible_rows import table_at
from tests.oracle.reference.recordings import OWN
from tests.support.servers.kafka import KafkaBroker, KafkaRecord
from tests.support.spark.job_process import JobProcess
from tests.support.spark.options import options_of
from tests.support.spark.recorded import three_copies
from tests.support.spark.records import send

RECORDING = "5.0/three-nodes"
SCHEMA = OWN / RECORDING / "node1" / "schema.cql"
TABLES = ("random.t2", "random.t6")
"""Static columns, collections, user types, composite keys, ranges."""
BUCKETS, BATCHES = 2, 3

pytestmark = pytest.mark.servers

Rows = dict[bytes, Mapping[str, Any]]


def folded(records: list[KafkaRecord]) -> Rows:
    """Rows after all changes, each of which follows the previous one."""
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
    """Rows of a table in the store, in the format of the messages."""
    schema = read_schema(SCHEMA)
    store = VersionStore(spark, str(folder / "store"), buckets=BUCKETS)
    rows = table_at(store, schema, schema.table(name), int(time.time()))
    row = F.struct(*rows.columns)
    data_type = StructType(rows.schema.fields)
    found = rows.select(json_bytes(row, data_type, None).alias("row")).collect()
    return [orjson.loads(each.row) for each in found]


def as_set(rows: Any) -> set[bytes]:
    return {orjson.dumps(row, option=orjson.OPT_SORT_KEYS) for row in rows}


class Published:
    """Topics and tables of changes of some tables, and the input of the job."""

    def __init__(
        self,
        spark: SparkSession,
        broker: KafkaBroker,
        folder: Path,
        prefix: str,
        tables: Sequence[str],
    ) -> None:
        self.spark = spark
        self.broker = broker
        self.folder = folder
        self.tables = tables
        self.topics = [f"{prefix}.{name}" for name in tables]
        for topic in self.topics:
            broker.create_topic(topic, 2)
        self._records = [
            replace(record, topic=f"{prefix}-agents")
            for record in three_copies([RECORDING])
            if record.topic in {f"shop.{name}" for name in tables}
        ]
        self.settings = {
            "kafka.bootstrap.servers": broker.bootstrap,
            "topics": f"{prefix}-agents",
            "output": str(folder / "store"),
            "buckets": str(BUCKETS),
            "compact.after.files": "1",
            "schema.file": str(SCHEMA),
            "tables": ",".join(tables),
            "topic.prefix": prefix,
            "sink": "kafka,delta",
            "changes.table": f"{folder}/{{keyspace}}/{{table}}",
        }

    def send(self) -> int:
        """Send all events. Returns their number."""
        send(self.broker, self._records)
        return len(self._records)

    def sent(self) -> list[KafkaRecord]:
        return self.broker.consume_all(*self.topics)

    def verify(self) -> None:
        """Verify that each topic and each table contains each change once."""
        for name, topic in zip(self.tables, self.topics, strict=True):
            sent = self.broker.consume_all(topic)
            rows = stored(self.spark, self.folder, name)
            assert as_set(folded(sent).values()) == as_set(rows)
            path = str(self.folder.joinpath(*name.split(".")))
            table = self.spark.read.format("delta").load(path)
            in_table = [bytes(row.id) for row in table.select("id").collect()]
            assert sorted(in_table) == sorted(
                dict(record.headers)["cdc.id"] for record in sent if record.value is not None
            )


def test_changes_job_crash_before_commit_repeats_no_change(
    broker: KafkaBroker,
    spark: SparkSession,
    tmp_path: Path,
    topic_prefix: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    published = Published(spark, broker, tmp_path, topic_prefix, TABLES[:1])
    published.send()
    checkpoint = {"checkpoint": str(tmp_path / "checkpoint"), "state.partitions": "2"}
    options = options_of(ChangesJobOptions, published.settings | checkpoint)

    finish = BatchJournal.finish

    def killed(journal: BatchJournal, batch: BegunBatch) -> None:
        if published.sent():
            raise KeyboardInterrupt
        # The first fill, with an empty store.
        finish(journal, batch)

    with monkeypatch.context() as patch:
        patch.setattr(BatchJournal, "finish", killed)
        with pytest.raises(KeyboardInterrupt):
            run(spark, options, stop=Event())
    before = len(published.sent())
    published.send()
    run(spark, options, stop=Event())
    assert len(published.sent()) == before
    published.verify()


@pytest.mark.slow
def test_killed_changes_job_repeats_no_change(
    broker: KafkaBroker,
    spark: SparkSession,
    jars_directory: Path,
    java_options: str,
    tmp_path: Path,
    topic_prefix: str,
) -> None:
    published = Published(spark, broker, tmp_path, topic_prefix, TABLES)
    limit = {"max.offsets.per.trigger": str(-(-published.send() // BATCHES))}
    given = [f"{name}={value}" for name, value in (published.settings | limit).items()]
    job = JobProcess("spark_jobs.changes", tmp_path, jars_directory, java_options, given)
    job.start()
    job.kill_when(lambda: bool(published.sent()), "a change")
    options = job.options(ChangesJobOptions)
    run(spark, options, stop=Event())
    published.verify()
    before = len(published.sent())
    published.send()
    run(spark, options, stop=Event())
    assert len(published.sent()) == before
