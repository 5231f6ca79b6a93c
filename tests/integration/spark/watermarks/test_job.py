"""The job with a broker: watermarks of the topics, and watermarks that tables have reached."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType

from sidecar.errors import ConfigError
from spark_jobs.errors import CheckpointError
from spark_jobs.options.command_line import JobReport
from spark_jobs.tables.commit_position import CommitPosition, Part
from spark_jobs.tables.target import create_table, open_table
from spark_jobs.watermarks import complete_until, read_watermarks
from spark_jobs.watermarks.job import run
from spark_jobs.watermarks.options import WatermarkOptions
from spark_jobs.watermarks.state import STATE_FILE
from tests.support.servers.kafka import KafkaBroker
from tests.support.spark.options import dotted, options_of
from tests.support.spark.typed_tables import target_options

pytestmark = pytest.mark.servers

MANY = 1000
"""More than the events of all tests."""
TABLE = "ks.t"
OTHER = "ks.u"
"""Table whose topic the store's job does not read."""


def value_of(node: str, until_ms: int, prefix: str) -> bytes:
    """Watermark as an agent sends it."""
    whole = {"after": -(1 << 63), "to": (1 << 63) - 1, "since_ms": 0}
    options = {"class": "NetworkTopologyStrategy", "dc1": "3"}
    document = {
        "version": 1,
        "ts_ms": time.time_ns() // 1_000_000,
        "node_id": node,
        "host_id": node,
        "cluster": "c",
        "data_center": "dc1",
        "rack": "r1",
        "topic_prefix": prefix,
        "agent_version": "1",
        "interval_ms": 60_000,
        "complete_since_ms": 1_000_000,
        "complete_until_ms": until_ms,
        "gaps": [],
        "sync_lag_ms": 0,
        "obstacles": [],
        "hints": [],
        "tables": {TABLE: 0, OTHER: 0},
        "replication": [{"keyspaces": ["ks"], "options": options, "ranges": [whole]}],
    }
    return json.dumps(document).encode()


class Story:
    """A watermark topic, the event topics, and a store or typed tables that read the events."""

    def __init__(
        self, spark: SparkSession, broker: KafkaBroker, directory: Path, prefix: str
    ) -> None:
        self.spark = spark
        self.broker = broker
        self.prefix = prefix
        self.events = f"{prefix}.{TABLE}"
        self.store = directory / "store"
        self.state = directory / "state"
        self.metrics = directory / "watermarks.prom"
        self._producer = Producer({"bootstrap.servers": broker.bootstrap})
        for topic in (prefix, self.events, f"{prefix}.{OTHER}"):
            broker.create_topic(topic, 1)

    def send(self, topic: str, key: str, value: bytes) -> None:
        self._producer.produce(topic, value, key.encode())
        self._producer.flush()

    def watermark(self, **until_ms: int) -> None:
        for node, at_ms in until_ms.items():
            self.send(self.prefix, node, value_of(node, at_ms, self.prefix))

    def consume(self, offset: int) -> None:
        """Record a batch of a store up to an offset, in a table with the commit."""
        text = json.dumps({"kind": "append", "offsets": {self.events: {"0": offset}}})
        writer = self.spark.range(1).write.format("delta").mode("append")
        writer.option("userMetadata", text).save(str(self.store))

    def run(self, **further: str) -> JobReport:
        settings: Mapping[str, Any] = {
            "kafka.bootstrap.servers": self.broker.bootstrap,
            "topics": self.prefix,
            "state": str(self.state),
            "write.consistency": "QUORUM",
            "clock.skew.ms": "0",
            "write.timeout.ms": "0",
            "metrics.prometheus.file": str(self.metrics),
            **dotted(further or {"store": str(self.store)}),
        }
        return run(self.spark, options_of(WatermarkOptions, settings))


def until(report: JobReport, name: str) -> str | None:
    values: Any = report.values[name]
    return None if TABLE not in values else str(values[TABLE]["until"])


def test_table_reaches_the_watermark_with_its_offsets(
    spark: SparkSession, broker: KafkaBroker, tmp_path: Path, topic_prefix: str
) -> None:
    story = Story(spark, broker, tmp_path, topic_prefix)
    story.send(f"{topic_prefix}.{OTHER}", "k", b"0")
    story.consume(0)
    for number in range(3):
        story.send(story.events, "k", str(number).encode())
    story.watermark(a=1_100_000, b=1_200_000, c=1_300_000)
    # Only the last message of a node counts.
    story.watermark(a=1_150_000)
    report = story.run()
    assert until(report, "tables") == "1970-01-01T00:20:00.000+00:00"
    assert until(report, "consumed") is None
    assert report.message.splitlines() == [
        f"{name}: complete until 1970-01-01T00:20:00.000+00:00" for name in (TABLE, OTHER)
    ]

    story.consume(3)
    story.send(story.events, "k", b"3")
    story.watermark(a=1_400_000, b=1_400_000)
    report = story.run()
    assert until(report, "tables") == "1970-01-01T00:23:20.000+00:00"
    assert until(report, "consumed") == "1970-01-01T00:20:00.000+00:00"
    story.consume(4)
    assert until(story.run(), "consumed") == "1970-01-01T00:23:20.000+00:00"
    consumed = read_watermarks(spark, str(story.state)).consumed
    row = spark.range(1).select(F.unix_seconds(complete_until(consumed[TABLE]))).first()
    assert row == (1400,)
    assert f'cdc_table_watermark_consumed_timestamp_seconds{{table="{TABLE}"}} 1400.0' in (
        story.metrics.read_text()
    )

    (story.state / STATE_FILE).write_text("{}")
    (story.state / f".{STATE_FILE}.crc").unlink()
    with pytest.raises(CheckpointError, match="is not a state of spark_jobs"):
        story.run()
    assert 'cdc_spark_run_failed{spark_job="watermarks"} 1.0' in story.metrics.read_text()
    with pytest.raises(ConfigError, match="run that job first"):
        read_watermarks(spark, str(tmp_path))


@pytest.mark.parametrize("table_format", ["iceberg", pytest.param("delta", marks=pytest.mark.slow)])
def test_typed_table_reaches_watermark_with_a_complete_batch(
    spark: SparkSession, broker: KafkaBroker, tmp_path: Path, topic_prefix: str, table_format: str
) -> None:
    story = Story(spark, broker, tmp_path, topic_prefix)
    typed = target_options(spark, tmp_path, table_format)
    settings = {"format": table_format, "target": typed.target}
    story.send(story.events, "k", b"0")
    story.watermark(a=1_200_000, b=1_200_000)
    assert until(story.run(**settings), "consumed") is None

    columns = {"id": IntegerType()}
    table = open_table(spark, typed, TABLE)
    create_table(table, typed, TABLE, "store-1", "table-1", columns)
    position = CommitPosition("store-1", "table-1", 1, 100, offsets={story.events: {"0": MANY}})
    table.record(position.as_part(Part.MERGE))
    assert until(story.run(**settings), "consumed") is None
    table.record(position)
    assert until(story.run(**settings), "consumed") == "1970-01-01T00:20:00.000+00:00"
