"""Messages of changes, and the unsent messages of an interrupted batch."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from cdc_extension import __version__
from spark_jobs.changes.converters import json_bytes
from spark_jobs.changes.envelope import envelopes
from spark_jobs.changes.kafka_sink import in_order, messages, unsent
from tests.support.spark.changes import NOW_US, ORDERS, POSITION, Change, changes_frame

ROW, NEXT, OTHER = (
    {"id": 7, "seq": 3, "note": "a"},
    {"id": 7, "seq": 3, "note": None},
    {"id": 7, "seq": None, "note": None},
)
LIFE = [
    Change(None, ROW, 0, ts_us=NOW_US),
    Change(ROW, NEXT, 1, ts_us=NOW_US + 1),
    Change(NEXT, None, 2, cause="expiry", ts_us=NOW_US + 2),
    Change(None, ROW, 3, ts_us=-(2**63)),
]
STATIC = Change(None, OTHER)
UNCHANGED = Change(ROW, ROW, 9, op=None)


AS_JSON = partial(json_bytes, schema=None)


def messages_of(
    spark: SparkSession, changes: Iterable[Change], *, is_snapshot: bool = False
) -> DataFrame:
    found = envelopes(
        changes_frame(spark, changes), ORDERS, POSITION, is_snapshot=is_snapshot, now_us=NOW_US
    )
    return messages(found, AS_JSON, AS_JSON, has_tombstones=not is_snapshot)


def test_messages_of_row_are_ordered(spark: SparkSession) -> None:
    changes = [*reversed(LIFE), STATIC, UNCHANGED]
    found = in_order(messages_of(spark, changes)).collect()
    assert {bytes(each.key) for each in found} == {b'{"id":7,"seq":3}', b'{"id":7,"seq":null}'}
    row = [each for each in found if each.key == b'{"id":7,"seq":3}']
    values = [None if each.value is None else json.loads(each.value) for each in row]
    assert [value and value["op"] for value in values] == ["c", "u", "d", None, "c"]
    assert [value and (value["before"], value["after"]) for value in values] == [
        (None, ROW),
        (ROW, NEXT),
        (NEXT, None),
        None,
        (None, ROW),
    ]
    headers = [{each.key: bytes(each.value) for each in message.headers} for message in row]
    assert headers[3] == headers[2]
    assert len({each["cdc.id"] for each in headers}) == len(LIFE)
    assert {len(each["cdc.id"]) for each in headers} == {16}
    assert headers[2] == {
        "cdc.id": bytes(row[2].id),
        "cdc.ts_us": str(NOW_US + 2).encode(),
        "cdc.kind": b"row",
        "cdc.cause": b"expiry",
    }
    assert values[2] == {
        "before": NEXT,
        "after": None,
        "source": {
            "version": __version__,
            "connector": "cassandra",
            "name": "c1",
            "ts_ms": NOW_US // 1000,
            "snapshot": "false",
            "db": "shop",
            "sequence": '["17", "1795277866", "2"]',
            "ts_us": NOW_US + 2,
            "ts_ns": (NOW_US + 2) * 1000,
            "keyspace": "shop",
            "table": "orders",
        },
        "transaction": None,
        "op": "d",
        "ts_ms": NOW_US // 1000,
        "ts_us": NOW_US,
        "ts_ns": NOW_US * 1000,
    }
    assert values[4] is not None
    assert values[4]["source"]["ts_ns"] is None


def test_existing_rows_become_snapshot_reads(spark: SparkSession) -> None:
    (found,) = messages_of(spark, LIFE[:1], is_snapshot=True).collect()
    value = json.loads(found.value)
    assert (value["op"], value["source"]["snapshot"]) == ("r", "true")


SENT = {
    "nothing": ([], [0, 1, 2, 3, 4]),
    "the first messages": ([0, 1], [2, 3, 4]),
    "a delete without its tombstone": ([0, 1, 2], [3, 4]),
    "all": ([0, 1, 2, 3, 4], []),
    "with a gap": ([0, 2, 3], [1, 2, 3, 4]),
}


def test_resumed_batch_sends_only_missing_messages(spark: SparkSession) -> None:
    """Each case is a separate row with the changes of `LIFE`."""
    lives = [
        replace(change, before=as_row(change.before, number), after=as_row(change.after, number))
        for number in range(len(SENT))
        for change in LIFE
    ]
    every = in_order(messages_of(spark, lives)).localCheckpoint()
    by_row: dict[bytes, list[Row]] = defaultdict(list)
    for message in every.collect():
        by_row[bytes(message.key)].append(message)
    cases = [by_row[b'{"id":%d,"seq":3}' % number] for number in range(len(SENT))]
    known = [
        (life[at].id, life[at].is_tombstone)
        for life, (numbers, _) in zip(cases, SENT.values(), strict=True)
        for at in numbers
    ]
    sent = spark.createDataFrame(known, "id binary, is_tombstone boolean")
    remaining = defaultdict(list)
    for message in in_order(unsent(every, sent)).collect():
        remaining[bytes(message.key)].append((message.id, message.value))
    for life, (name, (_, expected)) in zip(cases, SENT.items(), strict=True):
        found = remaining[bytes(life[0].key)]
        assert found == [(life[at].id, life[at].value) for at in expected], name


def as_row(row: Mapping[str, Any] | None, number: int) -> Mapping[str, Any] | None:
    return row and {**row, "id": number}
