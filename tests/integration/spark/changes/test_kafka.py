"""Changes in a topic of a broker, over kills in the middle of a send."""

import os
import signal
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import orjson
import pytest
from pyspark.sql import SparkSession

from spark_jobs.changes.journal import FILE
from spark_jobs.follow import InterruptedBatch
from tests.support.servers.kafka import KafkaBroker, KafkaRecord
from tests.support.servers.processes import ServerProcess, wait_until
from tests.support.spark.publishing_program import (
    AFTER,
    BEFORE,
    CHANGES_OF_A_ROW,
    ROWS,
    TABLE,
    changes,
    handler,
)

PARTITIONS = 2
MESSAGES = ROWS * (CHANGES_OF_A_ROW + 1)
"""Each row ends with a tombstone."""
_DEADLINE_S = 300

pytestmark = pytest.mark.servers


def messages_by_key(records: list[KafkaRecord]) -> dict[bytes, list[KafkaRecord]]:
    """The messages of each key in order; a key is in one partition."""
    found: dict[bytes, list[KafkaRecord]] = defaultdict(list)
    for record in records:
        assert record.key is not None
        found[record.key].append(record)
    for messages in found.values():
        assert len({message.partition for message in messages}) == 1
    return found


def assert_each_change_once(records: list[KafkaRecord]) -> None:
    found = messages_by_key(records)
    assert len(found) == ROWS
    for key, messages in found.items():
        values = [None if each.value is None else orjson.loads(each.value) for each in messages]
        assert [value and value["op"] for value in values] == ["c", "u", "u", "u", "d", None], key
        events = [value for value in values if value is not None]
        for event, following in pairwise(events):
            assert event["after"] == following["before"]


def end_of(broker: KafkaBroker, topic: str) -> int:
    return len(broker.consume_all(topic))


def test_a_publisher_killed_while_it_sends(
    broker: KafkaBroker, spark: SparkSession, tmp_path: Path
) -> None:
    topic = "killed"
    broker.create_topic(topic, PARTITIONS)
    arguments = [str(tmp_path), broker.bootstrap, topic]
    command = [sys.executable, "-m", "tests.support.spark.publishing_program", *arguments]
    process = ServerProcess("publisher", command, tmp_path / "publisher.log")
    process.start()
    wait_until(
        lambda: end_of(broker, topic) > 0, "a message", deadline_s=_DEADLINE_S, process=process
    )
    assert process.pid is not None
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    sent = end_of(broker, topic)
    assert 0 < sent < MESSAGES
    publisher = handler(spark, tmp_path, broker.bootstrap, topic)
    assert publisher.interrupted(TABLE) == InterruptedBatch(BEFORE, AFTER)
    publisher.finish(TABLE, changes(spark))
    assert publisher.position(TABLE) == AFTER
    assert_each_change_once(broker.consume_all(topic))


def test_a_batch_that_is_sent_but_not_recorded(
    broker: KafkaBroker, spark: SparkSession, tmp_path: Path
) -> None:
    topic = "recorded"
    broker.create_topic(topic, PARTITIONS)
    few = changes(spark).where("after.id < 10 or before.id < 10")
    handler(spark, tmp_path, broker.bootstrap, topic).apply(TABLE, few, BEFORE, AFTER, {})
    sent = end_of(broker, topic)
    assert sent == 10 * (CHANGES_OF_A_ROW + 1)
    # The entry before it has the begun batch.
    (tmp_path / "journal" / FILE).unlink()
    publisher = handler(spark, tmp_path, broker.bootstrap, topic)
    publisher.finish(TABLE, few)
    assert publisher.position(TABLE) == AFTER
    assert end_of(broker, topic) == sent


@pytest.mark.parametrize(
    ("policy", "has_tombstones"), [("delete", False), ("compact,delete", True)]
)
def test_tombstones_only_in_compacted_topics(
    broker: KafkaBroker, spark: SparkSession, tmp_path: Path, policy: str, has_tombstones: bool
) -> None:
    topic = f"tombstones-{has_tombstones}"
    broker.create_topic(topic, 1, {"cleanup.policy": policy})
    few = changes(spark).where("after.id < 2 or before.id < 2")
    publisher = handler(spark, tmp_path, broker.bootstrap, topic, has_tombstones=None)
    publisher.apply(TABLE, few, BEFORE, AFTER, {})
    values = [record.value for record in broker.consume_all(topic)]
    assert len(values) == 2 * (CHANGES_OF_A_ROW + has_tombstones)
    assert (None in values) == has_tombstones
