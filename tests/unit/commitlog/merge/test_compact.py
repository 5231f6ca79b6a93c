"""Row states replace their events: in any mix, order and number of compactions."""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitlog.merge import COMPACT_SCHEMA, Merger
from tests.oracle.merge.event_strategies import TIMES_US, EventValue, event_values
from tests.support.events.merge_batches import (
    SCHEMA,
    Item,
    input_batches,
    items,
    raw_rows,
    states,
    table_of,
    until,
)

MERGER = Merger(SCHEMA, "ks", "t")
EVENTS = st.lists(event_values(), max_size=14)
NOWS_S = range(9, 15)


def compacted(content: Iterable[Item], **options: Any) -> list[Item]:
    return states(MERGER.compact(input_batches(content), **options))


def shown(content: Iterable[Item], **options: Any) -> list[Any]:
    """The visible rows at every second."""
    content = list(content)
    return [
        raw_rows(MERGER.rows(input_batches(content), now_s=now_s, **options)) for now_s in NOWS_S
    ]


def expected(events: Iterable[Mapping[str, Any]]) -> list[Any]:
    table = table_of(events)
    return [table.rows(now_s) for now_s in NOWS_S]


@given(st.data(), EVENTS)
def test_any_mix_of_states_and_events(data: st.DataObject, events: list[EventValue]) -> None:
    content = items(events)
    for _ in range(data.draw(st.integers(1, 3))):
        is_compacted = data.draw(
            st.lists(st.booleans(), min_size=len(content), max_size=len(content))
        )
        taken = [item for item, is_taken in zip(content, is_compacted, strict=True) if is_taken]
        left = [item for item, is_taken in zip(content, is_compacted, strict=True) if not is_taken]
        content = data.draw(st.permutations([*left, *compacted(taken)]))
    assert shown(content) == expected(events)
    once = compacted(items(events))
    assert compacted(content) == once
    assert compacted([*once, *once]) == once


@given(EVENTS, TIMES_US)
def test_superseded_states_keep_earlier_times(events: list[EventValue], until_us: int) -> None:
    batches = list(MERGER.compact(input_batches(items(events)), keep_superseded=True))
    base, history = states(batches), states(batches, is_superseded=True)
    assert base == compacted(items(events))
    assert shown([*base, *history], until_us=until_us) == expected(until(events, until_us))


@given(st.data(), EVENTS, TIMES_US, st.integers(9, 14))
def test_history_over_compactions_that_purge(
    data: st.DataObject, events: list[EventValue], until_us: int, before_s: int
) -> None:
    """States that were dropped at any compaction are in its superseded states."""
    base: list[Item] = []
    history: list[Item] = []
    left = items(events)
    while left:
        count = data.draw(st.integers(1, len(left)))
        batches = list(
            MERGER.compact(
                input_batches([*base, *left[:count]]),
                keep_superseded=True,
                purge_before_s=before_s,
                truncated_us=0,
            )
        )
        base = states(batches)
        history += states(batches, is_superseded=True)
        left = left[count:]
    content = [*base, *history]
    assert shown(content, until_us=until_us) == expected(until(events, until_us))


@given(EVENTS, EVENTS, st.integers(9, 15), TIMES_US)
def test_purge(
    events: list[EventValue], later: list[EventValue], before_s: int, truncated_us: int
) -> None:
    """Later writes meet exactly what the purge left."""
    base = compacted(items(events), purge_before_s=before_s, truncated_us=truncated_us)
    table = table_of(events, truncated_us)
    table.purge(before_s)
    for event in later:
        table.apply(event)
    for now_s in NOWS_S:
        content = input_batches([*base, *items(later)])
        found = raw_rows(MERGER.rows(content, now_s=now_s, truncated_us=truncated_us))
        assert found == table.rows(now_s)


@given(EVENTS, st.integers(9, 15))
def test_a_purge_changes_no_later_read(events: list[EventValue], before_s: int) -> None:
    base = compacted(items(events), purge_before_s=before_s)
    for now_s in range(before_s, 16):
        assert raw_rows(MERGER.rows(input_batches(base), now_s=now_s)) == table_of(events).rows(
            now_s
        )


@given(EVENTS)
def test_nothing_remains_of_deleted_partitions_once_their_deletions_are_purged(
    events: list[EventValue],
) -> None:
    partitions = {(each["cells"]["pk"], each["cells"]["token"]) for each in events}
    deletions = [
        {"cells": {"kind": "partition", "pk": pk, "token": token, "del": {"ts": 9, "ldt": 10}}}
        for pk, token in sorted(partitions)
    ]
    assert compacted(items([*events, *deletions]), purge_before_s=20) == []


@pytest.mark.parametrize("option", [{}, {"purge_before_s": 12}, {"truncated_us": 2}])
def test_nothing_gives_nothing(option: dict[str, Any]) -> None:
    assert list(MERGER.compact([], **option)) == []


def test_the_columns_of_the_output() -> None:
    event = {
        "cells": {
            **{"kind": "row", "pk": "AAAAAQ==", "token": 7, "ck": "AQ==", "ckv": ["AQ=="]},
            "live": {"ts": 1},
        }
    }
    (batch,) = MERGER.compact(input_batches(items([event])))
    assert batch.schema == COMPACT_SCHEMA
    (row,) = batch.to_pylist()
    assert row["token"] == 7
    assert row["ck"] == b"\1"
    assert row["is_superseded"] is False
    assert row["state"][:2] == b"\1\0"


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        (b"", "its version is unknown"),
        (b"\2", "its version is unknown"),
        (b"\1\0\4", "its bytes are cut or changed"),
        (b"\1\1\0\0\0\0\0\0", "it has bytes after its end"),
    ],
)
def test_other_bytes_are_no_state(state: bytes, cause: str) -> None:
    batch = next(input_batches([(3, state, False)]))
    with pytest.raises(ValueError, match=f"row state of token 3 is invalid: {cause}"):
        list(MERGER.rows([batch], now_s=0))
    assert batch.schema.field("state").type == pa.binary()
