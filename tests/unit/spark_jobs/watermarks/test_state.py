"""Watermarks of the topics, and the watermarks that a consumer has reached."""

import json

import pytest

from spark_jobs.reconcile.store.commits import largest_offsets
from spark_jobs.watermarks.state import (
    MAX_PENDING,
    WatermarkState,
    is_reached,
    offsets_of_commit,
    state_from_json,
    state_to_json,
)
from spark_jobs.watermarks.table_watermark import RangeWatermark, TableWatermark

TABLE = "ks.t"


def tables(until_ms: int) -> dict[str, TableWatermark]:
    return {TABLE: TableWatermark(TABLE, (RangeWatermark(-5, 5, 0, until_ms, ("a cause",)),))}


def at(*offsets: int) -> dict[str, dict[int, int]]:
    return {"shop.ks.t": dict(enumerate(offsets))}


def reaches(*offsets: int) -> dict[str, dict[str, dict[int, int]]]:
    return {TABLE: at(*offsets)}


def test_consumer_reaches_watermark_at_its_end_offsets() -> None:
    state = WatermarkState().published(tables(1), at(10, 5)).published(tables(2), at(12, 5))
    assert state.reached(reaches(9, 9)).consumed == {}
    first = state.reached(reaches(10, 5))
    assert (first.consumed, len(first.pending)) == (tables(1), 1)
    last = first.reached(reaches(12, 6))
    assert (last.consumed, last.pending) == (tables(2), ())
    assert last.reached(reaches(12, 6)) == last


def test_each_table_reaches_its_watermark_independently() -> None:
    both = {**tables(1), "ks.u": TableWatermark("ks.u", (RangeWatermark(-5, 5, 0, 1, ()),))}
    ends = {**at(10), "shop.ks.u": {0: 3}}
    state = WatermarkState().published(both, ends)
    # A consumer of one table need not read the topics of the others.
    ahead = state.reached({TABLE: at(10), "ks.u": at(10)})
    assert ahead.consumed.keys() == {TABLE}
    assert [each.tables.keys() for each in ahead.pending] == [{"ks.u"}]
    whole = ahead.reached({TABLE: at(10), "ks.u": ends})
    assert (whole.consumed, whole.pending) == (both, ())
    assert state.reached({}) == state


def test_table_without_topic_reaches_no_watermark() -> None:
    renamed = {"orders": {0: 0}}
    state = WatermarkState().published(tables(1), renamed)
    assert state.reached({TABLE: renamed}).consumed == {}


def test_unread_partition_is_not_reached() -> None:
    assert not is_reached(at(0, 1), {"shop.ks.t": {0: 7}})
    assert is_reached(at(0, 0), {})
    assert is_reached({}, {})


def test_lagging_consumer_keeps_oldest_and_newest_watermark() -> None:
    state = WatermarkState()
    for number in range(1, 2 * MAX_PENDING):
        state = state.published(tables(number), at(number))
    assert len(state.pending) <= MAX_PENDING
    assert state.pending[0].tables == tables(1)
    assert state.pending[-1].tables == state.in_topics == tables(2 * MAX_PENDING - 1)


def test_unreached_table_does_not_stop_other_tables() -> None:
    """The other table is always one evaluation behind."""
    unread = TableWatermark("ks.u", (RangeWatermark(-5, 5, 0, 1, ()),))
    state = WatermarkState()
    for number in range(1, 3 * MAX_PENDING):
        ends = {**at(number), "shop.ks.u": {0: 1}}
        state = state.published({**tables(number), "ks.u": unread}, ends)
        state = state.reached({TABLE: at(number - 1), "ks.u": at(number - 1)})
        assert number == 1 or state.consumed == tables(number - 1)
        assert len(state.pending) <= MAX_PENDING


def test_watermark_state_round_trips() -> None:
    state = WatermarkState().published(tables(1), at(10)).published(tables(2), at(11))
    state = state.reached(reaches(10))
    assert state_from_json(state_to_json(state)) == state


def test_watermark_state_without_a_member_is_rejected() -> None:
    with pytest.raises(KeyError, match="in_topics"):
        state_from_json('{"format": 1, "consumed": {}, "pending": []}')


def test_watermark_state_of_another_format_is_rejected() -> None:
    with pytest.raises(ValueError, match="format 2"):
        state_from_json(json.dumps({"format": 2}))


def test_table_offsets_are_largest_of_its_commits() -> None:
    texts = [
        '{"kind": "append", "offsets": {"shop.ks.t": {"0": 7, "1": 2}}}',
        '{"kind": "append", "offsets": {"shop.ks.t": {"0": 5, "1": 3}}}',
        '{"part": "merge", "offsets": {"shop.ks.t": {"0": 9, "1": 9}}}',
        '{"kind": "compact"}',
        None,
        "by hand",
        "[]",
    ]
    assert largest_offsets(map(offsets_of_commit, texts)) == at(7, 3)
