"""Conditions and the status that follows from them. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

EXPECTED = frozenset(("starting",))
"""Codes of conditions that every run goes through."""


class State(StrEnum):
    """The state of an agent; `severity` orders it from best to worst."""

    OK = "ok"
    """Every event is delivered, or will be without an operator."""
    DEGRADED = "degraded"
    """Events are delivered, and something needs an operator: data was not delivered, or a fault
    that the agent cannot repair threatens data."""
    FAILING = "failing"
    """Events are not delivered for now."""

    @property
    def severity(self) -> int:
        """0 for ok, then rising."""
        return tuple(State).index(self)


@dataclass(frozen=True, slots=True)
class Condition:
    """One cause for which an agent is not ok. It ends with its cause."""

    code: str
    """Stable name in snake case, for metrics, alarms and scripts, such as `segment_quarantined`."""
    state: State
    """Degraded or failing."""
    component: str
    """The component of `/health` that reports it."""
    message: str
    """What happened and where, for the operator."""
    remedy: str
    """What to do, as a command or an instruction."""
    detail: str = ""
    """The words of a client library or a server about the cause; empty without any."""


@dataclass(frozen=True, slots=True)
class Status:
    """All conditions at one moment, the worst first."""

    conditions: tuple[Condition, ...] = ()

    @property
    def state(self) -> State:
        """The state of the worst condition; ok without one."""
        return self.conditions[0].state if self.conditions else State.OK


def status_of(conditions: Iterable[Condition]) -> Status:
    """The status that follows from conditions, which keep their order among equally bad ones. It
    ends each message with a full stop, because other sentences follow."""
    whole = (replace(each, message=_sentence(each.message)) for each in conditions)
    return Status(tuple(sorted(whole, key=lambda each: -each.state.severity)))


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
