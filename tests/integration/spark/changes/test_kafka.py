"""Changes in a Kafka topic, with process crashes in the middle of a send."""

from collections import defaultdict
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import orjson
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.changes.converters import json_bytes
from spark_jobs.changes.handler import BatchJournal, ChangesHandler, PublishedStream
from spark_jobs.changes.kafka_sink import Encoding, KafkaSink, KafkaTopic
from spark_jobs.follow import InterruptedBatch, Position
from spark_jobs.storage import Folder
from tests.support.servers.kafka import KafkaBroker, KafkaRecord
from tests.support.spark.changes import NOW_US, ORDERS

ROWS, OPS = 200, ("c", "u", "u", "u", "d")
COUNTS = {op: ROWS * OPS.count(op) for op in "cud"}
BEFORE, AFTER = Position(1, 100), Position(2, 110)
TABLE = ORDERS.source
AS_JSON = partial(json_bytes, schema=None)

pytestmark = pytest.mark.servers


def changes(session: SparkSession) -> DataFrame:
    """Changes `OPS` of each row, one second apart, in an order that mixes the rows."""
    row, seq = F.col("id") % ROWS, (F.col("id") / ROWS).cast("int")
    last = len(OPS) - 1

    def state(seq: Column) -> Column:
        note = F.concat(F.lit("change "), seq.cast("string"))
        return F.struct(row.cast("int").alias("id"), F.lit(0).alias("seq"), note.alias("note"))

    return session.range(ROWS * len(OPS)).select(
        F.unhex(F.md5(row.cast("string"))).alias("cdc_row_id"),
        F.xxhash64(row).alias("token"),
        seq.alias("seq"),
        F.get(F.array(*map(F.lit, OPS)), seq).alias("op"),
        F.lit("write").alias("cause"),
        (F.lit(NOW_US) + seq * 1_000_000).alias("ts_us"),
        F.when(seq > 0, state(seq - 1)).alias("before"),
        F.when(seq < last, state(seq)).alias("after"),
    )


def handler(session: SparkSession, folder: Path, bootstrap: str, topic: str) -> ChangesHandler:
    """Handler that publishes these changes, with its journal in a folder."""
    journal = BatchJournal(Folder(session, str(folder / "journal")))
    target = KafkaTopic(session, topic, {"kafka.bootstrap.servers": bootstrap})
    encoding = Encoding(AS_JSON, AS_JSON)
    sink = KafkaSink(target, replace(ORDERS, topic=topic), lambda _: encoding, has_tombstones=None)
    return ChangesHandler(lambda _: PublishedStream(journal, (sink,)), has_snapshot=True)


def assert_each_change_once(records: list[KafkaRecord], *, has_tombstones: bool) -> None:
    found: dict[bytes, list[KafkaRecord]] = defaultdict(list)
    for record in records:
        assert record.key is not None
        found[record.key].append(record)
    assert len(found) == ROWS
    for key, messages in found.items():
        assert len({message.partition for message in messages}) == 1
        values = [None if each.value is None else orjson.loads(each.value) for each in messages]
        expected = [*OPS, None] if has_tombstones else [*OPS]
        assert [value and value["op"] for value in values] == expected, key
        events = [value for value in values if value is not None]
        for event, following in pairwise(events):
            assert event["after"] == following["before"]


@pytest.mark.parametrize(
    ("sent", "policy", "has_tombstones"),
    [
        pytest.param("seq < 2 OR token > 0", "compact,delete", True, id="a-part"),
        pytest.param("true", "delete", False, id="all"),
    ],
)
def test_unrecorded_sent_batch_is_completed_once(
    broker: KafkaBroker,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    topic_prefix: str,
    sent: str,
    policy: str,
    has_tombstones: bool,
) -> None:
    """The process ends after some of the messages, or after all of them. Only compacted topics
    contain tombstones."""
    broker.create_topic(topic_prefix, 2, {"cleanup.policy": policy})
    place = (spark, tmp_path, broker.bootstrap, topic_prefix)
    write = KafkaTopic.write

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(KafkaTopic, "write", lambda topic, found: write(topic, found.where(sent)))
        patch.setattr(BatchJournal, "finish", killed)
        with pytest.raises(KeyboardInterrupt):
            handler(*place).apply(TABLE, changes(spark), COUNTS, BEFORE, AFTER, {})
    before = len(broker.consume_all(topic_prefix))
    publisher = handler(*place)
    assert publisher.interrupted(TABLE) == InterruptedBatch(BEFORE, AFTER)
    publisher.finish(TABLE, changes(spark), COUNTS)
    assert publisher.position(TABLE) == AFTER
    records = broker.consume_all(topic_prefix)
    assert 0 < before <= len(records)
    assert (len(records) == before) == (sent == "true")
    assert_each_change_once(records, has_tombstones=has_tombstones)
