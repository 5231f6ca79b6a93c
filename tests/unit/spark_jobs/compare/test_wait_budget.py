"""Several waits share one limit."""

from typing import Any

from spark_jobs.compare.wait_budget import WaitBudget
from tests.support.pipeline.fakes import FakeClock


def new_budget(seconds: float) -> tuple[FakeClock, list[float], WaitBudget]:
    """A clock that pauses move, the pauses, and a budget with them."""
    clock, pauses = FakeClock(), list[float]()

    def pause(wait_s: float) -> None:
        pauses.append(wait_s)
        clock.advance(wait_s)

    return clock, pauses, WaitBudget(seconds, clock=clock, pause=pause)


def never(_: Any) -> bool:
    return False


def test_waits_share_the_time_and_nothing_else_uses_it() -> None:
    clock, pauses, budget = new_budget(7)
    numbers = iter(range(10))
    assert budget.until(lambda: next(numbers), lambda number: number == 2) == 2
    assert pauses == [2, 2]
    # Between two waits.
    clock.advance(1000)
    assert budget.until(lambda: next(numbers), never) == 5
    assert pauses == [2, 2, 2, 1]
    assert budget.until(lambda: next(numbers), never) == 6
    assert pauses == [2, 2, 2, 1]


def test_only_later_observations_use_the_time() -> None:
    clock, pauses, budget = new_budget(5)
    numbers = iter(range(10))

    def slow() -> int:
        clock.advance(4)
        return next(numbers)

    assert budget.until(slow, never) == 1
    assert pauses == [2]
    assert budget.until(slow, never) == 2


def test_without_time_there_is_one_observation() -> None:
    numbers = iter(range(10))
    _, pauses, budget = new_budget(0)
    assert budget.until(lambda: next(numbers), never) == 0
    _, others, budget = new_budget(9)
    assert budget.until(lambda: next(numbers), lambda _: True) == 1
    assert pauses == others == []
