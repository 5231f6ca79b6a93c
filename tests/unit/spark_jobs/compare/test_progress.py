"""Stored progress of a comparison, and its time budget."""

from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.compare.digests import RangeDigest
from spark_jobs.compare.progress import (
    Progress,
    ReadRanges,
    WaitBudget,
    groups_of,
    progress_from_json,
    progress_to_json,
)
from tests.support.pipeline.fakes import FakeClock

BEGUN = Progress("id", "ALL", ranges=4, store_version=7, second=100)
FIRST = ReadRanges((0, 1), 10, 20)


def test_finished_groups_are_not_read_again() -> None:
    found = BEGUN.with_digests(FIRST, {1: RangeDigest(2, 99, 5)})
    assert found.unread() == [2, 3]
    assert progress_from_json(progress_to_json(found)) == found
    assert (found.live_rows, found.live_oldest_us, found.last_read_us) == (2, 5, 20)


def test_ranges_with_different_digests_are_listed() -> None:
    found = BEGUN.with_digests(FIRST, {0: RangeDigest(1, 5, 3), 1: RangeDigest(2, 99)})
    store = {0: RangeDigest(1, 5), 1: RangeDigest(2, 98), 3: RangeDigest(1, 1)}
    assert found.differing(store) == [1, 3]
    assert found.with_rows(ReadRanges((3,), 30, 40)).to_store([1, 3]) == [1]


def test_ranges_are_grouped() -> None:
    assert groups_of([1, 2, 3], 2) == [[1, 2], [3]]
    assert groups_of([], 2) == []


def test_progress_round_trips_and_rejects_other_formats() -> None:
    assert not BEGUN.is_finished
    assert progress_from_json(progress_to_json(replace(BEGUN, is_finished=True))).is_finished
    with pytest.raises(KeyError, match="digests"):
        progress_from_json('{"format": 1}')
    with pytest.raises(ValueError, match="format"):
        progress_from_json('{"format": 2}')


def new_budget(seconds: float) -> tuple[FakeClock, list[float], WaitBudget]:
    """A clock that the pauses advance, the pauses, and their budget."""
    clock, pauses = FakeClock(), list[float]()

    def pause(wait_s: float) -> None:
        pauses.append(wait_s)
        clock.advance(wait_s)

    return clock, pauses, WaitBudget(seconds, clock=clock, pause=pause)


def never(_: Any) -> bool:
    return False


def test_only_waits_consume_time_budget() -> None:
    clock, pauses, budget = new_budget(7)
    numbers = iter(range(10))
    assert budget.until(lambda: next(numbers), lambda number: number == 2) == 2
    assert pauses == [2, 2]
    # Time between two waits is free.
    clock.advance(1000)
    assert budget.until(lambda: next(numbers), never) == 5
    assert pauses == [2, 2, 2, 1]
    assert budget.until(lambda: next(numbers), never) == 6
    assert pauses == [2, 2, 2, 1]


def test_first_observation_is_free_of_time_budget() -> None:
    clock, pauses, budget = new_budget(5)
    numbers = iter(range(10))

    def slow() -> int:
        clock.advance(4)
        return next(numbers)

    assert budget.until(slow, never) == 1
    assert pauses == [2]
    assert budget.until(slow, never) == 2


def test_empty_time_budget_allows_one_observation() -> None:
    numbers = iter(range(10))
    _, pauses, budget = new_budget(0)
    assert budget.until(lambda: next(numbers), never) == 0
    _, others, budget = new_budget(9)
    assert budget.until(lambda: next(numbers), lambda _: True) == 1
    assert pauses == others == []
