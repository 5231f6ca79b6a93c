"""Offsets of snapshots, and their state after a restart."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.snapshot.offsets import (
    SnapshotOffsets,
    State,
    TableSnapshot,
    new_table_snapshot,
    snapshot_offsets_from_entries,
)
from agent.snapshot.plan import NodeTable, plan
from agent.snapshot.ring import MAX_TOKEN, MIN_TOKEN, TokenRange
from sidecar.errors import OffsetStoreError

NODE = "node-1"
RANGES = (TokenRange(MIN_TOKEN, -10), TokenRange(5, 80), TokenRange(100, MAX_TOKEN))


def test_snapshot_completes_after_every_token_range() -> None:
    copy = new_table_snapshot("id", "ks.t", RANGES, 7)
    for number, each in enumerate(RANGES):
        assert copy.state is State.COPYING
        assert copy.advanced(each, each.to - 1).state is State.COPYING
        copy = copy.advanced(each, each.to)
        assert (copy.state is State.COMPLETED) == (number == 2)
    assert (copy.ratio, copy.offsets) == (1.0, {})
    assert new_table_snapshot("id", "ks.t", (), 7).state is State.COMPLETED


@given(st.lists(st.tuples(st.sampled_from(RANGES), st.floats(0, 1))))
def test_snapshot_progress_never_decreases_and_survives_round_trip(
    steps: list[tuple[TokenRange, float]],
) -> None:
    copy = new_table_snapshot("id", "ks.t", RANGES, 7)
    ratio = 0.0
    for each, part in steps:
        copy = copy.advanced(each, each.after + int(each.size * part))
        assert copy.ratio >= ratio
        ratio = copy.ratio
    progress = SnapshotOffsets(NODE).with_table(replace(copy, rows=3))
    entries = progress.to_entries()
    assert all(isinstance(value, str) for value in entries.values())
    assert snapshot_offsets_from_entries(entries, NODE) == progress
    assert snapshot_offsets_from_entries(entries, "another") == SnapshotOffsets("another")


def test_stopped_snapshot_remains_stopped() -> None:
    copy = replace(new_table_snapshot("id", "ks.t", RANGES, 7), state=State.STOPPED)
    assert copy.advanced(RANGES[0], 0) == copy
    entries = SnapshotOffsets(NODE).with_table(copy).to_entries()
    assert snapshot_offsets_from_entries(entries, NODE).tables["id"].state is State.STOPPED


def test_invalid_snapshot_progress_is_reported() -> None:
    with pytest.raises(OffsetStoreError, match="snapshot_progress"):
        snapshot_offsets_from_entries(
            {"node.id": NODE, "id.table": "ks.t", "id.state": "lost"}, NODE
        )


def table(table_id: str, *, published: bool = True, counter: bool = False) -> NodeTable:
    return NodeTable(table_id, "ks", f"t{table_id}", published, counter)


def done(*table_ids: str) -> SnapshotOffsets:
    progress = SnapshotOffsets(NODE)
    for each in table_ids:
        progress = progress.with_table(TableSnapshot(each, f"ks.t{each}", 1, State.COMPLETED))
    return progress


def test_snapshot_mode_selects_tables_to_copy() -> None:
    tables = [table("1"), table("2"), table("3", published=False)]
    for mode, first, later in (("initial", ["2"], []), ("always", ["2"], ["2"]), ("never", [], [])):
        for is_first, expected in ((True, first), (False, later)):
            found = plan(tables, done("1"), mode, is_first_scan=is_first)  # type: ignore[arg-type]  # literals in a loop
            assert [each.table_id for each in found.begin] == expected


def test_recreated_or_republished_table_is_copied_again() -> None:
    progress = done("old", "off")
    found = plan(
        [table("new"), table("off", published=False)], progress, "always", is_first_scan=False
    )
    assert ([each.table_id for each in found.begin], set(found.forget)) == (["new"], {"old", "off"})
    again = plan([table("off")], progress.without(found.forget), "always", is_first_scan=False)
    assert [each.table_id for each in again.begin] == ["off"]


def test_counter_tables_are_counted_but_not_copied() -> None:
    found = plan([table("1", counter=True)], done(), "initial", is_first_scan=True)
    assert (found.begin, found.counter_tables) == ((), 1)
