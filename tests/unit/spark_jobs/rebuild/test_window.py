"""Which writes a rebuild includes, and at which time."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.errors import JobError
from spark_jobs.rebuild.window import (
    StoreCommit,
    StoreRead,
    Window,
    created_us,
    plan_store_read,
    require_complete,
)

NOW_US = 9_000_000


def test_window_until_time_admits_earlier_writes() -> None:
    window = Window(NOW_US, until_us=5_500_000)
    assert [window.admits(each) for each in (5_500_000, 5_500_001)] == [True, False]
    assert (window.second, window.complete_to_us) == (5, 5_500_000)
    assert window.undo_us == NOW_US


def test_window_excludes_writes_in_range() -> None:
    window = Window(NOW_US, without_us=(3, 5))
    assert [window.admits(each) for each in (2, 3, 5, 6)] == [True, False, False, True]
    assert (window.second, window.complete_to_us) == (9, 2)
    # A write right after the window takes precedence over the undo statement.
    assert window.undo_us == 6


def test_unbounded_window_admits_every_write() -> None:
    window = Window(NOW_US)
    assert window.admits(1 << 62)
    assert window.complete_to_us == NOW_US
    assert window.merge_options([7]) == {
        "now_s": 9,
        "truncated_us": 7,
        "until_us": None,
        "without_us": None,
    }


def test_last_truncation_admitted_by_window_counts() -> None:
    assert Window(NOW_US, without_us=(3, 5)).truncated_us([1, 2, 4]) == 2
    assert Window(NOW_US, until_us=1).truncated_us([2]) is None


MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US
TABLE = "5c6d69c0-e5e2-11f1-bc65-c3e5585a0dd5"
COMMITS = [StoreCommit(version, version * HOUR_US) for version in range(5)]


def plan(commits: list[StoreCommit], complete_to_us: int, history_s: int = 0) -> StoreRead | None:
    return plan_store_read(commits, complete_to_us, now_us=5 * HOUR_US, history_s=history_s)


def test_last_store_version_before_time_is_base() -> None:
    assert plan(COMMITS, 3 * HOUR_US + MINUTE_US) == StoreRead(base=3)
    # The clocks of clients and job may differ by less than a minute.
    assert plan(COMMITS, 3 * HOUR_US + MINUTE_US - 1) == StoreRead(base=2)
    assert plan(list(reversed(COMMITS)), 9 * HOUR_US) == StoreRead(base=4)


@given(st.lists(st.integers(0, 9), min_size=1), st.integers(0, 9), st.randoms())
def test_store_base_precedes_every_later_version(hours: list[int], at: int, random: Any) -> None:
    """The job's clock may be set back between two commits."""
    commits = [StoreCommit(version, hour * HOUR_US) for version, hour in enumerate(hours)]
    random.shuffle(commits)
    read = plan(commits, at * HOUR_US + MINUTE_US)
    assert read is not None
    base = -1 if read.base is None else read.base
    assert all(hour <= at for hour in hours[: base + 1])
    assert base + 1 == len(hours) or hours[base + 1] > at


def test_later_store_needs_whole_log_or_superseded_states() -> None:
    assert plan(COMMITS, 0) == StoreRead(base=None)
    assert plan(COMMITS[2:], HOUR_US) is None
    assert plan(COMMITS[2:], HOUR_US, history_s=4 * 3600 - 1) is None
    assert plan(COMMITS[2:], HOUR_US, history_s=4 * 3600) == StoreRead(with_history=True)


def test_table_id_contains_creation_time() -> None:
    # 2009-12-17T00:26:29.805Z
    assert created_us("d2177dd0-eaa2-11de-a572-001b779c76e3") == 1_261_009_589_805_000
    assert created_us(str(UUID(int=0x1B255F4D_EF25_40A6 << 64 | 7))) is None


def required(**changes: Any) -> None:
    given: dict[str, Any] = {
        "has_store": True,
        "store_read": None,
        "commits": COMMITS[2:],
        "oldest_segment_ms": None,
    }
    require_complete("shop.orders", TABLE, HOUR_US, **(given | changes))


def test_store_or_older_segments_make_rebuild_complete() -> None:
    required(store_read=StoreRead(base=1))
    made_us = created_us(TABLE)
    assert made_us is not None
    required(oldest_segment_ms=made_us // 1000 - 1)
    with pytest.raises(JobError, match="the oldest segment is from"):
        required(oldest_segment_ms=made_us // 1000 + 1)


def test_incomplete_rebuild_error_lists_options() -> None:
    with pytest.raises(JobError) as raised:
        required()
    text = str(raised.value)
    assert "shop.orders cannot be rebuilt as it was at 1970-01-01T01:00:00Z" in text
    assert "the Delta log of the store begins at 1970-01-01T02:00:00Z" in text
    for name in ("segments", "store.version", "history.retention.seconds", "accept.incomplete"):
        assert f"`{name}" in text
