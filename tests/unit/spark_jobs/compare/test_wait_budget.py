"""Several waits share one limit."""

from collections.abc import Iterator

from spark_jobs.compare.wait_budget import WaitBudget


class Clock:
    """A clock that pauses and observations move."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.pauses: list[float] = []

    def budget(self, seconds: float) -> WaitBudget:
        return WaitBudget(seconds, clock=lambda: self.now_s, pause=self.pause)

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now_s += seconds


def test_waits_share_the_time_and_nothing_else_uses_it() -> None:
    clock = Clock()
    budget = clock.budget(7)
    numbers = iter(range(10))
    assert budget.until(lambda: next(numbers), lambda number: number == 2) == 2
    assert clock.pauses == [2, 2]
    # Between two waits.
    clock.now_s += 1000
    assert budget.until(lambda: next(numbers), lambda number: number < 0) == 5
    assert clock.pauses == [2, 2, 2, 1]
    assert budget.until(lambda: next(numbers), lambda number: number < 0) == 6
    assert clock.pauses == [2, 2, 2, 1]


def test_only_later_observations_use_the_time() -> None:
    clock = Clock()

    def slow() -> Iterator[int]:
        for number in range(10):
            clock.now_s += 4
            yield number

    numbers = slow()
    budget = clock.budget(5)
    assert budget.until(lambda: next(numbers), lambda number: number < 0) == 1
    assert clock.pauses == [2]
    assert budget.until(lambda: next(numbers), lambda number: number < 0) == 2


def test_without_time_there_is_one_observation() -> None:
    clock = Clock()
    observed: list[float] = []

    def observe() -> int:
        observed.append(clock.now_s)
        return len(observed)

    assert clock.budget(0).until(observe, lambda _: False) == 1
    assert clock.budget(9).until(observe, lambda _: True) == 2
    assert (observed, clock.pauses) == ([100, 100], [])
