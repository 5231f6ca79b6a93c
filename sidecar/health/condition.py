"""Conditions and the status that follows from them. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum

EXPECTED = frozenset(("starting",))
"""Codes of conditions that every run goes through."""


class State(StrEnum):
    """The state of an agent or of a condition."""

    OK = "ok"
    """Every event is delivered, or will be without an operator."""
    DEGRADED = "degraded"
    """Events are delivered, and something needs an operator: data was not delivered, or a fault
    that the agent cannot repair threatens data."""
    FAILING = "failing"
    """Events are not delivered for now."""
    WARNING = "warning"
    """Of a condition that leaves the agent ok: the agent cannot see something that it would
    report."""

    @property
    def severity(self) -> int:
        """0 for ok and warning, then rising."""
        return AGENT_STATES.index(self) if self in AGENT_STATES else 0


AGENT_STATES = (State.OK, State.DEGRADED, State.FAILING)
"""From best to worst."""


class Rank(IntEnum):
    """What a condition does to events, by which one comes first among several."""

    NONE = 0
    """Events are delivered; an operator should do something."""
    LATE = 1
    """Events of some tables or collections are late or wait."""
    STOPPED = 2
    """No events are delivered. The rank of each failing condition."""
    LOSS = 3
    """Changes are being lost now."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One cause for which an agent is not ok. It ends with its cause."""

    code: str
    """Stable name in snake case, for metrics, alarms and scripts, such as `segment_quarantined`."""
    state: State
    """Warning, degraded or failing."""
    component: str
    """The component of `/health` that reports it."""
    message: str
    """What happened and where, for the operator."""
    remedy: str
    """What to do, as a command or an instruction."""
    detail: str = ""
    """The words of a client library or a server about the cause; empty without any."""
    rank: Rank = Rank.NONE

    @property
    def urgency(self) -> tuple[Rank, int]:
        """Rank, then severity. The highest comes first."""
        stops = self.state is State.FAILING
        return max(self.rank, Rank.STOPPED) if stops else self.rank, self.state.severity


@dataclass(frozen=True, slots=True)
class Status:
    """All conditions at one moment, by rank."""

    conditions: tuple[Condition, ...] = ()

    @property
    def state(self) -> State:
        """That of the worst condition."""
        return worst_state(self.conditions)


def worst_state(conditions: Iterable[Condition]) -> State:
    """Of an agent or component with these conditions."""
    return AGENT_STATES[max((each.state.severity for each in conditions), default=0)]


def status_of(conditions: Iterable[Condition]) -> Status:
    """The status that follows from conditions, which keep their order among those of one rank and
    state. It ends each message with a full stop, because other sentences follow."""
    whole = (replace(each, message=_sentence(each.message)) for each in conditions)
    # `reverse` keeps the order of equals.
    return Status(tuple(sorted(whole, key=lambda each: each.urgency, reverse=True)))


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
