"""What a row of the fault matrix states, and what its test measured."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest

from tests.acceptance.faults.process_use import Growth

Test = TypeVar("Test", bound=Callable[..., Any])

MARKER = "situation"


@dataclass(frozen=True, slots=True)
class Situation:
    """One row: each text is one or two sentences for an operator."""

    area: str
    """One of `AREAS`."""
    name: str
    """What happened, such as "A topic is deleted while the agent runs"."""
    action: str
    """The behaviour of the agent."""
    health: str
    """What `/health` reports meanwhile: the state and the condition's code."""
    arrival: str
    """Which events arrive, and when."""


AREAS = {
    "broker": "Kafka",
    "node": "Cassandra",
    "schema": "Schema",
    "files": "File systems",
    "bounds": "Bounds",
}


def situation(
    area: str, name: str, *, action: str, health: str, arrival: str
) -> Callable[[Test], Test]:
    """Marks a test as the proof of one row."""
    if area not in AREAS:
        raise ValueError(f"area {area}: unknown; allowed are {', '.join(AREAS)}")
    mark = pytest.mark.situation(Situation(area, name, action, health, arrival))

    def marked(test: Test) -> Test:
        # A mark changes the function in place.
        mark(test)
        return test

    return marked


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
