"""Rounds in which the candidates of a benchmark take turns."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from benches.progress import progress_bar

Name = TypeVar("Name", bound=str)
Measured = TypeVar("Measured")


def run_rounds(
    title: str,
    names: Sequence[Name],
    measure: Callable[[Name, int], Measured],
    *,
    rounds: int,
    warm_up: int = 0,
) -> dict[Name, list[Measured]]:
    """Call `measure(name, number)` for each candidate, once a round.

    Returns the measurements of each candidate without those of the first `warm_up` rounds.
    """
    seen: dict[Name, list[Measured]] = {name: [] for name in names}
    with progress_bar(title, len(names) * (warm_up + rounds)) as step:
        for number in range(warm_up + rounds):
            for name in names:
                measured = measure(name, number)
                if number >= warm_up:
                    seen[name].append(measured)
                step()
    return seen
