"""Changes lead from the earlier visible rows to the later ones, step by step."""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.merge import Merger
from tests.oracle.merge.event_strategies import TIMES_US, EventValue, event_values
from tests.support.events.merge_batches import (
    SCHEMA,
    Item,
    input_batches,
    items,
    states,
    table_of,
    typed_rows,
)

MERGER = Merger(SCHEMA, "ks", "t")
EVENTS = st.lists(event_values(), max_size=14)
Change = dict[str, Any]
Key = tuple[int, bytes | None]


def changes(
    old: Iterable[Mapping[str, Any]], new: Iterable[Mapping[str, Any]], **options: Any
) -> list[Change]:
    content: list[Item] = [*items(new, is_new=True), *items(old)]
    batches = list(MERGER.changes(input_batches(content), **options))
    assert all(batch.schema == MERGER.changes_schema for batch in batches)
    return [row for batch in batches for row in batch.to_pylist()]


def by_key(rows: Iterable[Mapping[str, Any]]) -> dict[Key, Any]:
    return {(row["k"], row["c"]): row for row in rows}


def written_us(event: Mapping[str, Any]) -> int:
    """The largest write time in an event."""
    cells = event["cells"]
    members = [cells[name] for name in ("live", "del") if name in cells]
    times_us = [each["ts"] for each in (*members, *cells.get("cdel", ()), *cells.get("cell", ()))]
    return max(times_us, default=-(1 << 63))


class Folded:
    """A copy of the visible rows that changes update."""

    def __init__(self) -> None:
        self.rows: dict[bytes, Any] = {}
        self.next_expiry_s: dict[bytes, int] = {}

    def apply(self, change: Change) -> None:
        row_id = change["cdc_row_id"]
        if change["op"] is not None:
            assert change["before"] == self.rows.get(row_id)
            assert (
                change["op"]
                == {(True, False): "c", (False, True): "d", (False, False): "u"}[
                    change["before"] is None, change["after"] is None
                ]
            )
            assert change["before"] != change["after"]
            self.rows.pop(row_id, None)
            if change["after"] is not None:
                self.rows[row_id] = change["after"]
        if change["next_expiry_s"] is not None:
            assert change["is_last"]
            self.next_expiry_s[row_id] = change["next_expiry_s"]


def check_sequence(found: list[Change], visible: Iterable[bytes]) -> None:
    """Each row's numbers start at 0, and its last change is marked."""
    of_rows: dict[bytes, list[Change]] = {}
    for change in found:
        of_rows.setdefault(change["cdc_row_id"], []).append(change)
    for row_id, of_row in of_rows.items():
        assert [change["seq"] for change in of_row] == list(range(len(of_row)))
        assert [change["is_last"] for change in of_row] == [False] * (len(of_row) - 1) + [True]
        assert {change["existed"] for change in of_row} == {row_id in visible}
        for change in of_row:
            shown = change["after"] or change["before"]
            assert shown is None or shown["c"] == (change["ck"] and change["ck"][1:])
            nothing = (None, None, None, None)
            values = tuple(change[name] for name in ("cause", "ts_us", "before", "after"))
            assert (change["op"] is None) == (values == nothing)


@st.composite
def calls(draw: st.DrawFn) -> list[tuple[list[EventValue], int, int | None]]:
    """New events, the read time and the truncation of each call."""
    seconds = sorted(draw(st.lists(st.integers(9, 14), min_size=1, max_size=4)))
    truncated_us = draw(st.none() | TIMES_US)
    return [
        (draw(st.lists(event_values(), max_size=6)), now_s, truncated_us if at else None)
        for at, now_s in enumerate(seconds)
    ]


@given(calls(), st.booleans())
def test_changes_transform_each_visible_state_into_next(
    stages: list[tuple[list[EventValue], int, int | None]], each: bool
) -> None:
    folded = Folded()
    old: list[EventValue] = []
    before_s, before_truncated_us = stages[0][1], None
    for new, after_s, truncated_us in stages:
        found = changes(
            old,
            new,
            before_s=before_s,
            after_s=after_s,
            before_truncated_us=before_truncated_us,
            after_truncated_us=truncated_us,
            each=each,
        )
        check_sequence(found, set(folded.rows))
        for change in found:
            folded.apply(change)
        old += new
        table = table_of(old, truncated_us)
        visible = typed_rows(table, after_s)
        assert by_key(folded.rows.values()) == by_key(visible)
        if not each:
            ids = [change["cdc_row_id"] for change in found]
            assert len(set(ids)) == len(ids)
        for row_id, row in folded.rows.items():
            key = row["k"], row["c"]
            end_s = next(
                (s for s in range(after_s + 1, 16) if by_key(typed_rows(table, s)).get(key) != row),
                None,
            )
            # A static row that other rows will hide has no separate expiry.
            if end_s is not None:
                assert after_s < folded.next_expiry_s[row_id] <= end_s
        before_s, before_truncated_us = after_s, truncated_us


@given(EVENTS, EVENTS, st.integers(9, 12), st.integers(0, 3))
def test_each_write_time_yields_its_changes(
    old: list[EventValue], new: list[EventValue], before_s: int, passed_s: int
) -> None:
    after_s = before_s + passed_s
    found = changes(old, new, before_s=before_s, after_s=after_s, each=True)
    visible = by_key(typed_rows(table_of(old), before_s))
    for time_us in sorted({written_us(event) for event in new}):
        old = [*old, *(event for event in new if written_us(event) == time_us)]
        fold(visible, (c for c in found if c["cause"] == "write" and c["ts_us"] == time_us))
        assert visible == by_key(typed_rows(table_of(old), before_s))
    expired = [change for change in found if change["cause"] == "expiry"]
    assert all(before_s < change["ts_us"] / 1_000_000 <= after_s for change in expired)
    fold(visible, expired)
    assert visible == by_key(typed_rows(table_of(old), after_s))


def fold(visible: dict[Key, Any], found: Iterable[Change]) -> None:
    """Apply changes to visible rows."""
    for change in found:
        shown = change["before"] or change["after"]
        key = shown["k"], shown["c"]
        assert visible.pop(key, None) == change["before"]
        if change["after"] is not None:
            visible[key] = change["after"]


@given(EVENTS, st.booleans())
def test_repeated_events_yield_no_changes(events: list[EventValue], each: bool) -> None:
    assert changes(events, events[::2], before_s=11, after_s=11, each=each) == []


@given(EVENTS, EVENTS, st.booleans())
def test_row_states_yield_same_changes_as_events(
    old: list[EventValue], new: list[EventValue], each: bool
) -> None:
    options: dict[str, Any] = {"before_s": 10, "after_s": 12, "each": each}
    base = states(MERGER.compact(input_batches(items(old))))
    content = [*base, *items(new, is_new=True)]
    found = [
        row
        for batch in MERGER.changes(input_batches(content), **options)
        for row in batch.to_pylist()
    ]
    assert found == changes(old, new, **options)


def test_row_ids_are_stable_across_runs() -> None:
    event = {
        "cells": {
            **{"kind": "row", "pk": "AAAAAQ==", "token": 7, "ck": "QAE=", "ckv": ["AQ=="]},
            "live": {"ts": 1, "ttl": 9, "ldt": 20},
        }
    }
    (change,) = changes([], [event], before_s=3, after_s=3, each=False)
    empty = {"ms": None, "s": None, "a": None, "b": None, "m": None, "me": None}
    assert change == {
        "cdc_row_id": change["cdc_row_id"],
        "token": 7,
        "ck": b"\x40\x01",
        "seq": 0,
        "is_last": True,
        "existed": False,
        "op": "c",
        "cause": "write",
        "ts_us": 1,
        "before": None,
        "after": {"k": 1, "c": b"\x01"} | empty,
        "next_expiry_s": 20,
        "rejected": None,
    }
    (batch,) = MERGER.typed(input_batches(items([event])), now_s=3)
    assert batch.column("cdc_row_id").to_pylist() == [change["cdc_row_id"]]
    assert len(change["cdc_row_id"]) == 16
    # Spark cannot read fixed-size binary values.
    assert batch.schema.field("cdc_row_id").type == pa.binary()
