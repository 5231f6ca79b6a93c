"""Wrong changes are found: each check receives a fault of its kind."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.integration.spark.golden.changed import folded, wrong_changes, wrong_messages
from tests.support.servers.kafka import KafkaRecord

Row = dict[str, Any] | None
ONE: Row = {"p": 1, "v": "a", "m": {"k": 1}}
TWO: Row = {"p": 1, "v": "b", "m": {"k": 1}}
MAP: Row = {"p": 1, "v": "b", "m": {"k": 2}}
COLUMNS = ("v", "m")
CHANGES = [("r", None, ONE), ("u", ONE, TWO), ("u", TWO, MAP), ("d", MAP, None), ("c", None, TWO)]


Change = tuple[str, Row, Row]
WRONG: list[list[Change]] = [
    [CHANGES[0], CHANGES[2]],
    [CHANGES[0], ("c", None, TWO)],
    [("u", None, ONE)],
    [CHANGES[0], ("d", ONE, TWO)],
    [CHANGES[0], ("u", ONE, ONE)],
]


def frame(spark: SparkSession, *rows: Sequence[Change]) -> DataFrame:
    """Changes of some rows."""
    row_type = "struct<p: int, new: int, v: string, m: map<string, int>>"
    changes = [
        (bytes([row, number]), bytes([row]), number, 5, 0, *change)
        for row, of_row in enumerate(rows)
        for number, change in enumerate(of_row)
    ]
    schema = f"""id binary, cdc_row_id binary, store_version bigint, second bigint, seq int,
        op string, before {row_type}, after {row_type}"""
    return spark.createDataFrame(changes, schema).coalesce(1)


@pytest.mark.slow
def test_wrong_row_changes_are_found(spark: SparkSession) -> None:
    right = frame(spark, CHANGES, CHANGES[:4])
    assert list(wrong_changes("t", right, COLUMNS)) == []
    (row,) = folded(right, ("new", *COLUMNS), {"new": "p"}).collect()
    assert row.asDict() == {"new": 1, "v": "b", "m": {"k": 1}}
    assert len(list(wrong_changes("t", frame(spark, *WRONG), COLUMNS))) == len(WRONG)
    twice = frame(spark, CHANGES[:1])
    assert any("2 times" in line for line in wrong_changes("t", twice.union(twice), COLUMNS))


def messages(*changes: Change, key: bytes = b'{"p":1}', first: int = 0) -> list[KafkaRecord]:
    found = []
    for number, (op, before, after) in enumerate(changes, first):
        source = {"sequence": f'["{number}", "5", "0"]'}
        value = orjson.dumps({"op": op, "before": before, "after": after, "source": source})
        values = [value, None] if op == "d" else [value]
        headers = (("cdc.id", bytes([number])),)
        found += [KafkaRecord("t", 0, 0, key, each, headers, 0) for each in values]
    return found


def wrong(records: Sequence[KafkaRecord], count: int) -> list[str]:
    """`count` is the number of changes in the table."""
    rows = [SimpleNamespace(id=bytes([number])) for number in range(count)]
    table: Any = SimpleNamespace(select=lambda _: SimpleNamespace(collect=lambda: rows))
    return list(wrong_messages("t", records, table, 1, 1))


def test_wrong_change_messages_are_found() -> None:
    whole = messages(*CHANGES)
    assert wrong(whole, 5) == []
    changed = [CHANGES[0], ("u", {"p": 1}, {"p": 1, "new": 2})]
    assert wrong(messages(*changed), 2) == []
    first: Change = ("c", None, {"u": {"x": 1}})
    assert wrong(messages(first, ("d", {"u": {"x": 1, "new": None}}, None)), 2) == []
    assert any("follows" in line for line in wrong(messages(first, ("d", {"u": {}}, None)), 2))
    renamed = messages(*CHANGES[2:], key=b'{"new":1}', first=2)
    assert wrong([*renamed, *whole[:2]], 5) == []
    assert "lacks 1" in wrong(whole, 6)[0]
    assert "has 1 others" in wrong(whole, 4)[0]
    assert any("follows" in line for line in wrong(messages(CHANGES[0], CHANGES[2]), 2))
    assert any("no tombstone" in line for line in wrong(whole[:4], 4))
    assert any("no tombstone" in line for line in wrong([*whole[:4], whole[5]], 5))
    assert any("no deletion" in line for line in wrong([*whole[:1], whole[4]], 1))
    assert any(
        "lacks columns" in line for line in wrong(messages(CHANGES[0], key=b'{"p":null}'), 1)
    )
