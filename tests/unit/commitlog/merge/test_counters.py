"""Counters: the shards of all leaders, in events and in row states."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitlog import MalformedValueError
from commitlog.merge import Merger
from tests.oracle.algebra import Row, RowKey
from tests.support.events import merge_batches
from tests.support.events.counter_events import LEADERS, context, counter_events, text
from tests.support.events.merge_batches import SCHEMA, Item, input_batches, items, raw_rows, states

MERGER = Merger(SCHEMA, "ks", "n")
EVENTS = st.lists(counter_events(), max_size=8)


table_of = partial(merge_batches.table_of, has_counters=True)


def shown(content: Iterable[Item], **options: Any) -> dict[RowKey, Row]:
    return raw_rows(MERGER.rows(input_batches(content), now_s=0, **options))


@given(EVENTS, st.none() | st.integers(0, 4))
def test_rows_are_those_of_the_plain_merge(
    events: list[dict[str, Any]], truncated_us: int | None
) -> None:
    found = shown(items(events), truncated_us=truncated_us)
    assert found == table_of(events, truncated_us).rows(0)


@given(st.data(), EVENTS)
def test_any_mix_of_states_and_events(data: st.DataObject, events: list[dict[str, Any]]) -> None:
    count = data.draw(st.integers(0, len(events)))
    base = states(MERGER.compact(input_batches(items(events[:count]))))
    content = data.draw(st.permutations([*base, *items(events[count:]), *items(events[::2])]))
    assert shown(content) == table_of(events).rows(0)


@given(EVENTS)
def test_a_purge_leaves_the_sums(events: list[dict[str, Any]]) -> None:
    base = states(MERGER.compact(input_batches(items(events)), purge_before_s=100))
    assert shown(base) == table_of(events).rows(0)


@given(EVENTS, st.integers(0, 4))
def test_superseded_states_keep_earlier_times(events: list[dict[str, Any]], until_us: int) -> None:
    """Sums of the shards that were written up to a time."""
    batches = list(MERGER.compact(input_batches(items(events)), keep_superseded=True))
    content = [*states(batches), *states(batches, is_superseded=True)]
    kept = []
    for event in events:
        cells = dict(event["cells"])
        cells["cell"] = [cell for cell in cells.get("cell", ()) if cell["ts"] <= until_us]
        if "del" in cells and cells["del"]["ts"] > until_us:
            del cells["del"]
        kept.append({"cells": cells})
    assert shown(content, until_us=until_us) == table_of(kept).rows(0)


def sums(rows: dict[RowKey, Row]) -> dict[bytes | None, int]:
    """The sum of each row."""
    return {
        ck: int.from_bytes(value, "big", signed=True)
        for (_, ck), row in rows.items()
        for value in row.values()
        if isinstance(value, bytes)
    }


@given(EVENTS, EVENTS, st.booleans())
def test_changes_lead_to_the_sums(
    old: list[dict[str, Any]], new: list[dict[str, Any]], each: bool
) -> None:
    # The clustering values of the strategy's events are empty; `ck` tells the rows apart.
    content = [*items(old), *items(new, is_new=True)]
    visible = sums(shown(items(old)))
    batches = MERGER.changes(input_batches(content), before_s=0, after_s=0, each=each)
    for batch in batches:
        for change in batch.to_pylist():
            before = change["before"] and change["before"]["n"]
            assert visible.pop(change["ck"], None) == before
            if change["after"] is not None:
                visible[change["ck"]] = change["after"]["n"]
    assert visible == sums(table_of([*old, *new]).rows(0))


def test_a_sum_is_an_integer() -> None:
    value = text(context((LEADERS[0], 1, -7), (LEADERS[1], 1, 3)))
    cells = {"kind": "row", "pk": "aw==", "token": 1, "ck": "", "ckv": [""]}
    event = {"cells": cells | {"cell": [{"col": "n", "ts": 1, "val": value}]}}
    (batch,) = MERGER.typed(input_batches(items([event])), now_s=0)
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
def test_a_context_without_totals_is_rejected(raw: bytes) -> None:
    cells = {"kind": "row", "pk": "aw==", "token": 1, "ck": "", "ckv": [""]}
    event = {"cells": cells | {"cell": [{"col": "n", "ts": 1, "val": text(raw)}]}}
    cause = f"The value {raw.hex().upper()} is not a counter context .* Leave its table out"
    with pytest.raises(MalformedValueError, match=cause):
        shown(items([event]))
