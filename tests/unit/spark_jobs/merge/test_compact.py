"""Row states replace their events, for any mix, order and number of compactions; also for
counters."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitlog import MalformedValueError
from spark_jobs.merge import COMPACT_SCHEMA, Merger
from tests.oracle.algebra import Row, RowKey
from tests.oracle.merge.event_strategies import TIMES_US, EventValue, event_values
from tests.support.events import merge_batches
from tests.support.events.counter_events import LEADERS, context, counter_events, text
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
def test_mixed_states_and_events_show_same_rows(
    data: st.DataObject, events: list[EventValue]
) -> None:
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
def test_purging_compactions_retain_superseded_history(
    data: st.DataObject, events: list[EventValue], until_us: int, before_s: int
) -> None:
    """The superseded states of a compaction contain the states that it dropped."""
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
    assert shown([*base, *history], until_us=until_us) == expected(until(events, until_us))


@given(EVENTS, EVENTS, st.integers(9, 15), TIMES_US)
def test_purge_leaves_rows_that_later_writes_need(
    events: list[EventValue], later: list[EventValue], before_s: int, truncated_us: int
) -> None:
    """Later writes merge with the purged state exactly as with the purged table."""
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
def test_purge_changes_no_later_read(events: list[EventValue], before_s: int) -> None:
    base = compacted(items(events), purge_before_s=before_s)
    for now_s in range(before_s, 16):
        assert raw_rows(MERGER.rows(input_batches(base), now_s=now_s)) == table_of(events).rows(
            now_s
        )


@given(EVENTS)
def test_purge_removes_deleted_partitions_with_their_deletions(
    events: list[EventValue],
) -> None:
    partitions = {(each["cells"]["pk"], each["cells"]["token"]) for each in events}
    deletions = [
        {"cells": {"kind": "partition", "pk": pk, "token": token, "del": {"ts": 9, "ldt": 10}}}
        for pk, token in sorted(partitions)
    ]
    assert compacted(items([*events, *deletions]), purge_before_s=20) == []


@pytest.mark.parametrize("option", [{}, {"purge_before_s": 12}, {"truncated_us": 2}])
def test_compaction_of_empty_input_is_empty(option: dict[str, Any]) -> None:
    assert list(MERGER.compact([], **option)) == []


def test_compaction_output_has_documented_columns() -> None:
    event = {
        "cells": {
            **{"kind": "row", "pk": "AAAAAQ==", "token": 7, "ck": "AQ==", "ckv": ["AQ=="]},
            "live": {"ts": 1},
        }
    }
    (batch,) = MERGER.compact(input_batches(items([event])))
    assert batch.schema == COMPACT_SCHEMA
    (row,) = batch.to_pylist()
    assert (row["token"], row["ck"]) == (7, b"\1")
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
def test_invalid_row_state_is_rejected(state: bytes, cause: str) -> None:
    batch = next(input_batches([(3, state, False)]))
    with pytest.raises(ValueError, match=f"row state of token 3 is invalid: {cause}"):
        list(MERGER.rows([batch], now_s=0))
    assert batch.schema.field("state").type == pa.binary()


COUNTERS = Merger(SCHEMA, "ks", "n")
COUNTER_EVENTS = st.lists(counter_events(), max_size=8)


counters_of = partial(merge_batches.table_of, has_counters=True)


def shown_counters(content: Iterable[Item], **options: Any) -> dict[RowKey, Row]:
    return raw_rows(COUNTERS.rows(input_batches(content), now_s=0, **options))


@given(COUNTER_EVENTS, st.none() | st.integers(0, 4))
def test_counter_rows_match_plain_merge(
    events: list[dict[str, Any]], truncated_us: int | None
) -> None:
    assert shown_counters(items(events), truncated_us=truncated_us) == counters_of(
        events, truncated_us
    ).rows(0)


@given(st.data(), COUNTER_EVENTS)
def test_mixed_counter_states_and_events_show_same_sums(
    data: st.DataObject, events: list[dict[str, Any]]
) -> None:
    count = data.draw(st.integers(0, len(events)))
    base = states(COUNTERS.compact(input_batches(items(events[:count]))))
    content = data.draw(st.permutations([*base, *items(events[count:]), *items(events[::2])]))
    assert shown_counters(content) == counters_of(events).rows(0)


@given(COUNTER_EVENTS)
def test_purge_preserves_counter_sums(events: list[dict[str, Any]]) -> None:
    base = states(COUNTERS.compact(input_batches(items(events)), purge_before_s=100))
    assert shown_counters(base) == counters_of(events).rows(0)


@given(COUNTER_EVENTS, st.integers(0, 4))
def test_superseded_counter_states_keep_earlier_sums(
    events: list[dict[str, Any]], until_us: int
) -> None:
    """The sums cover the shards written up to a given time."""
    batches = list(COUNTERS.compact(input_batches(items(events)), keep_superseded=True))
    content = [*states(batches), *states(batches, is_superseded=True)]
    kept = []
    for event in events:
        cells = dict(event["cells"])
        cells["cell"] = [cell for cell in cells.get("cell", ()) if cell["ts"] <= until_us]
        if "del" in cells and cells["del"]["ts"] > until_us:
            del cells["del"]
        kept.append({"cells": cells})
    assert shown_counters(content, until_us=until_us) == counters_of(kept).rows(0)


def sums(rows: dict[RowKey, Row]) -> dict[bytes | None, int]:
    """The sum of each row."""
    return {
        ck: int.from_bytes(value, "big", signed=True)
        for (_, ck), row in rows.items()
        for value in row.values()
        if isinstance(value, bytes)
    }


@given(COUNTER_EVENTS, COUNTER_EVENTS, st.booleans())
def test_counter_changes_lead_to_sums(
    old: list[dict[str, Any]], new: list[dict[str, Any]], each: bool
) -> None:
    # Events of the strategy have empty clustering values; `ck` distinguishes the rows.
    content = [*items(old), *items(new, is_new=True)]
    visible = sums(shown_counters(items(old)))
    batches = COUNTERS.changes(input_batches(content), before_s=0, after_s=0, each=each)
    for batch in batches:
        for change in batch.to_pylist():
            before = change["before"] and change["before"]["n"]
            assert visible.pop(change["ck"], None) == before
            if change["after"] is not None:
                visible[change["ck"]] = change["after"]["n"]
    assert visible == sums(counters_of([*old, *new]).rows(0))


def test_counter_sum_is_an_integer() -> None:
    value = text(context((LEADERS[0], 1, -7), (LEADERS[1], 1, 3)))
    cells = {"kind": "row", "pk": "aw==", "token": 1, "ck": "", "ckv": [""]}
    event = {"cells": cells | {"cell": [{"col": "n", "ts": 1, "val": value}]}}
    (batch,) = COUNTERS.typed(input_batches(items([event])), now_s=0)
    assert batch.column("n").to_pylist() == [-4]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x00",
        b"\x00\x01\x80",
        b"\x00\x00" + bytes(31),
        b"\x00\x00" + bytes(32),
        b"\x00\x01\x00\x00" + bytes(32),
    ],
    ids=["empty", "short", "cut header", "cut shard", "remote", "local"],
)
def test_counter_context_without_totals_is_rejected(raw: bytes) -> None:
    cells = {"kind": "row", "pk": "aw==", "token": 1, "ck": "", "ckv": [""]}
    event = {"cells": cells | {"cell": [{"col": "n", "ts": 1, "val": text(raw)}]}}
    cause = f"The value {raw.hex().upper()} is not a counter context .* Leave its table out"
    with pytest.raises(MalformedValueError, match=cause):
        shown_counters(items([event]))
