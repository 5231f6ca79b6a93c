"""Conditions and the status that follows from them. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

EXPECTED = frozenset(("starting",))
"""Codes of conditions that every run goes through."""


class State(StrEnum):
    """How an agent is. Ordered from best to worst by `severity`."""

    OK = "ok"
    """Every event is delivered, or will be without help."""
    DEGRADED = "degraded"
    """Events are delivered, and something needs a person: data was not delivered, or a fault that
    the agent cannot repair would lose data or go unnoticed."""
    FAILING = "failing"
    """Events are not delivered for now."""

    @property
    def severity(self) -> int:
        """0 for ok, then rising."""
        return tuple(State).index(self)


@dataclass(frozen=True, slots=True)
class Condition:
    """One cause for which an agent is not ok. It exists exactly as long as its cause."""

    code: str
    """Stable name in snake case, for metrics, alarms and scripts, such as `segment_quarantined`."""
    state: State
    """Degraded or failing."""
    component: str
    """The component of `/health` that reports it."""
    message: str
    """What happened and where, for a person."""
    remedy: str
    """What to do, as a command or an instruction."""


@dataclass(frozen=True, slots=True)
class Status:
    """All conditions at one moment, the worst first."""

    conditions: tuple[Condition, ...] = ()

    @property
    def state(self) -> State:
        """The state of the worst condition; ok without one."""
        return self.conditions[0].state if self.conditions else State.OK


def status_of(conditions: Iterable[Condition]) -> Status:
    """The status that follows from conditions; their order is kept among equally bad ones. Each
    message ends with a full stop: sentences follow it, and causes that others word have none."""
    whole = (replace(each, message=_sentence(each.message)) for each in conditions)
    return Status(tuple(sorted(whole, key=lambda each: -each.state.severity)))


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
