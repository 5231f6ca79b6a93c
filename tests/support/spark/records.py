"""Records of Kafka topics as rows, for tests without a broker."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession

from tests.support.servers.kafka import KafkaBroker

SCHEMA = (
    "key binary, value binary, topic string, partition int, offset bigint, "
    "headers array<struct<key: string, value: binary>>"
)
_COLUMNS = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)
Header = tuple[str, bytes | None]
_DEADLINE_S = 300


@dataclass(frozen=True, slots=True)
class Record:
    """One record of Spark's Kafka source."""

    headers: tuple[Header, ...] | None
    value: bytes | None = b"{}"
    key: bytes | None = b"{}"
    topic: str = "shop.orders"
    partition: int = 0
    offset: int = 0


def event_id(number: int) -> bytes:
    return number.to_bytes(16)


def headers_of(
    event_id: bytes, *, node: str = "n1", position: int = 0, kind: str = "row", ts_us: int = 1
) -> tuple[Header, ...]:
    """The four headers of an agent."""
    return (
        ("cdc.id", event_id),
        ("cdc.source", f"{node}/7/{position}/0".encode()),
        ("cdc.ts_us", str(ts_us).encode()),
        ("cdc.kind", kind.encode()),
    )


def frame(spark: SparkSession, records: Iterable[Record]) -> DataFrame:
    """The records as a DataFrame. Spark has them in the driver, so expressions need no job."""
    return spark.createDataFrame(_table(records), SCHEMA)


def _table(records: Iterable[Record]) -> pa.Table:
    rows = [
        {
            **{name: getattr(record, name) for name in _COLUMNS.names},
            "headers": None
            if record.headers is None
            else [{"key": name, "value": value} for name, value in record.headers],
        }
        for record in records
    ]
    return pa.Table.from_pylist(rows, _COLUMNS)


def send(broker: KafkaBroker, records: Iterable[Record], *, partitions: int = 1) -> None:
    """Send the records, with the partition by key. Missing topics get `partitions` partitions."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "acks": "all", "log_level": 0})
    topics = set(broker.topics())
    for record in records:
        if record.topic not in topics:
            broker.create_topic(record.topic, partitions)
            topics.add(record.topic)
        producer.produce(
            record.topic,
            value=record.value,
            key=record.key,
            partition=sum(record.key or b"") % partitions,
            headers=list(record.headers or ()),
        )
    assert producer.flush(_DEADLINE_S) == 0


class RecordStream:
    """A stream with one micro-batch for each `add`."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self._count = 0
        folder.mkdir(parents=True)

    def add(self, records: Sequence[Record]) -> None:
        """Add one file, which is one micro-batch."""
        self._count += 1
        unfinished = self._folder.with_name(f"{self._folder.name}-{self._count}.parquet")
        pq.write_table(_table(records), unfinished)
        # Spark reads files in the order of their times, which can be equal.
        os.utime(unfinished, (self._count, self._count))
        unfinished.rename(self._folder / f"{self._count:04}.parquet")

    def read(self) -> DataFrame:
        stream = self._spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return stream.parquet(str(self._folder))
