"""Which row of the fault matrix a test proves, and what it measured."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from tests.acceptance.faults.process_use import Growth

MARKER = "situation"


def situation(name: str) -> pytest.MarkDecorator:
    """Marks a test as the proof of the row of docs/evidence/faults.md with this name."""
    return pytest.mark.situation(name)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Events by their ids: what the judge expects beside what arrived."""

    expected: int
    delivered: int
    """Different events that arrived and were expected."""
    lost: int
    invented: int
    repeated: int
    """Arrivals beyond the first of each event."""
    recorded: int = 0
    """Events that did not arrive and that the quarantine has on record; not among `lost`."""
    growth: Growth | None = None
    """Resources of the agent, where the row measures them."""


def outcome_of(
    expected: Iterable[object], arrived: Iterable[object], recorded: Iterable[object] = ()
) -> Outcome:
    """Compares ids. `expected` may repeat an id where the log itself has an event twice."""
    wanted, got, kept = Counter(expected), Counter(arrived), set(recorded)
    missing = [each for each in wanted if each not in got]
    return Outcome(
        expected=len(wanted),
        delivered=sum(1 for each in wanted if each in got),
        lost=sum(1 for each in missing if each not in kept),
        invented=sum(1 for each in got if each not in wanted),
        repeated=sum(
            count - wanted[each] for each, count in got.items() if count > wanted[each] > 0
        ),
        recorded=sum(1 for each in missing if each in kept),
    )
