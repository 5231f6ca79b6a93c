"""Counters merge by the clocks of their leaders, and match the sums of recorded nodes."""

import json
from base64 import b64decode
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from cassandra.cqltypes import UTF8Type
from hypothesis import given
from hypothesis import strategies as st

import commitlog
from tests.oracle.algebra import Shard, Table, Value, read_shards
from tests.oracle.reference.recordings import Scenario
from tests.support.events.counter_events import counter_events, text
from tests.support.events.counter_following import Table as Following
from tests.support.record.plan import FIXTURES
from tests.support.segments.segment_reading import Event, events, schema_of, unpacked

RECORDING = FIXTURES / "5.0" / "counter-shards"
NODES = [Scenario(FIXTURES, RECORDING / f"node{number}") for number in (1, 2, 3)]
ANSWERS = json.loads((RECORDING / "answers.json").read_text())
SHARDS = commitlog.EventFormat(topic_prefix="t", cluster="c", node_id="n", counter_events="shards")
COLUMNS = ("seen", "kept", "visits")


def rows(found: Iterable[dict[str, Any]]) -> dict[Any, Any]:
    table = Table(has_counters=True)
    for event in found:
        table.apply(event)
    return table.rows(0)


@given(st.lists(counter_events(), max_size=8))
def test_counter_sums_the_newest_shard_per_leader(found: list[dict[str, Any]]) -> None:
    shown = rows(found)
    for ck in (b"\x40\x01", b"\x40\x02"):
        cells = [e["cells"] for e in found if e["cells"]["ck"] == text(ck)]
        deleted_to_us = max((c["del"]["ts"] for c in cells if "del" in c), default=-1)
        counted = [cell for c in cells for cell in c.get("cell", ())]
        said: list[tuple[bytes, Shard]] = []
        for cell in counted:
            if cell["val"] is not None:
                said += read_shards(b64decode(cell["val"]), cell["ts"]).items()
        newest = {leader: max(s for other, s in said if other == leader) for leader, _ in said}
        live = [shard.count for shard in newest.values() if shard.ts_us > deleted_to_us]
        is_gone = not live or any(cell["val"] is None for cell in counted)
        expected = None if is_gone else {"n": sum(live).to_bytes(8, "big", signed=True)}
        assert shown.get((b"k", ck)) == expected


def recorded(node: Scenario, folder: Path, keyspace: str) -> list[Event]:
    ((path, name),) = node.segments()
    found = events(unpacked(path, name, folder), schema_of(node), SHARDS)
    return [event for event in found if event.value["source"]["keyspace"] == keyspace]


def selected(found: list[Event]) -> dict[tuple[str, int | None], tuple[int | None, ...]]:
    """Page and day, with the counters `seen`, `kept` and `visits`."""
    table = Table(has_counters=True)
    for event in found:
        table.apply(event.value)
    days = {
        (event.value["cells"]["pk"], event.value["cells"].get("ck")): event.key["day"]
        for event in found
    }
    answers = {}
    for (pk, ck), row in table.rows(0).items():
        day = days[text(pk), None if ck is None else text(ck)]
        answers[UTF8Type.from_binary(pk, 5), day] = tuple(map(counted, map(row.get, COLUMNS)))
    return answers


def counted(value: Value | None) -> int | None:
    """Number in a counter's eight bytes."""
    assert value is None or isinstance(value, bytes)
    return None if value is None else int.from_bytes(value, "big", signed=True)


@pytest.mark.parametrize("keyspace", ["single", "triple"])
def test_recorded_counters_match_select(keyspace: str, tmp_path: Path) -> None:
    """Except increments after a deletion, for which Cassandra itself has two answers."""
    found = [event for node in NODES for event in recorded(node, tmp_path, keyspace)]
    following = Following()
    following.apply(found)
    answers = {(page, day): tuple(values) for page, day, *values in ANSWERS[keyspace]}
    merged = selected(found)
    assert merged.keys() == answers.keys()
    differing = 0
    for row, values in merged.items():
        for column, ours, theirs in zip(COLUMNS, values, answers[row], strict=True):
            place = (row[0], None) if column == "visits" else row
            allowed = following.values(place, column)
            assert {ours, theirs} <= allowed, (row, column)
            differing += ours != theirs
    assert differing < len(merged)
