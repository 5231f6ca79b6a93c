"""Conditions, the status that follows from them, and the health that `/health`, the page, the
metrics and the log report. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum

EXPECTED = frozenset(("starting",))
"""Codes of conditions that every run goes through."""


class State(StrEnum):
    """The state of an agent or of a condition."""

    OK = "ok"
    """Every event is delivered, or will be without an operator's help."""
    DEGRADED = "degraded"
    """Events are delivered, but an operator must act: data was not delivered, or a fault that the
    agent cannot repair threatens data."""
    FAILING = "failing"
    """Events are currently not delivered."""
    WARNING = "warning"
    """Only conditions have this state. The agent remains ok, but cannot detect something that it
    would otherwise report."""

    @property
    def severity(self) -> int:
        """0 for ok and warning, higher for worse states."""
        return AGENT_STATES.index(self) if self in AGENT_STATES else 0


AGENT_STATES = (State.OK, State.DEGRADED, State.FAILING)
"""From best to worst."""


class Rank(IntEnum):
    """A condition's effect on events, which decides the order of several conditions."""

    NONE = 0
    """Events are delivered; an operator should act."""
    LATE = 1
    """Events of some tables or collections are late or wait."""
    STOPPED = 2
    """No events are delivered. The minimum rank of failing conditions."""
    LOSS = 3
    """Changes are being lost now."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One problem of an agent. It lasts as long as its cause."""

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
    """A client library's or a server's own text about the cause; may be empty."""
    rank: Rank = Rank.NONE

    @property
    def urgency(self) -> tuple[Rank, int]:
        """Rank, then severity. The highest comes first."""
        stops = self.state is State.FAILING
        return max(self.rank, Rank.STOPPED) if stops else self.rank, self.state.severity


@dataclass(frozen=True, slots=True)
class Status:
    """All conditions at one moment, most urgent first."""

    conditions: tuple[Condition, ...] = ()

    @property
    def state(self) -> State:
        return worst_state(self.conditions)


def worst_state(conditions: Iterable[Condition]) -> State:
    """Return the state of an agent or component with these conditions."""
    return AGENT_STATES[max((each.state.severity for each in conditions), default=0)]


def status_of(conditions: Iterable[Condition]) -> Status:
    """Sort conditions by urgency; equally urgent conditions keep their order. Each message gets a
    full stop if it has none, because other sentences follow."""
    whole = (replace(each, message=_sentence(each.message)) for each in conditions)
    # `reverse` preserves the order of equal elements.
    return Status(tuple(sorted(whole, key=lambda each: each.urgency, reverse=True)))


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


@dataclass(frozen=True, slots=True)
class Component:
    """The health of one part of an agent, such as the sink or the schema: the state of its worst
    condition."""

    name: str
    state: State
    message: str
    """The component's activity, or the message and remedy of each of its conditions."""
    details: Mapping[str, object] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.state is State.OK


@dataclass(frozen=True, slots=True)
class Health:
    status: Status
    message: str
    """One line: the progress of delivery, or the first condition and the number of others."""
    components: Sequence[Component] = ()

    @property
    def state(self) -> State:
        return self.status.state

    def to_document(self) -> dict[str, object]:
        """The body of `/health`, for JSON."""
        return {
            "status": self.state.value,
            "message": self.message,
            "conditions": [condition_document(each) for each in self.status.conditions],
            "components": {
                part.name: {
                    "status": part.state.value,
                    "message": part.message,
                    **part.details,
                }
                for part in self.components
            },
        }


def condition_document(condition: Condition) -> dict[str, str]:
    """Return the JSON form; `detail` is present only if the condition has one."""
    document = {
        "code": condition.code,
        "status": condition.state.value,
        "component": condition.component,
        "message": condition.message,
        "remedy": condition.remedy,
    }
    return {**document, "detail": condition.detail} if condition.detail else document


def component_of(
    status: Status, name: str, message: str, details: Mapping[str, object] | None = None
) -> Component:
    """Create a component with the worst state of its conditions; without any, use `message`."""
    conditions = [each for each in status.conditions if each.component == name]
    reported = [f"{each.message} {each.remedy}".strip() for each in conditions]
    return Component(name, worst_state(conditions), " ".join(reported) or message, details or {})


def health_of(status: Status, message: str, components: Iterable[Component] = ()) -> Health:
    """Combine status and components. `message` describes an agent that is ok. A condition whose
    component is not among `components` adds that component."""
    parts = list(components)
    known = {part.name for part in parts}
    missing = dict.fromkeys(
        each.component for each in status.conditions if each.component not in known
    )
    parts += [component_of(status, name, "") for name in missing]
    return Health(status, _message(status, message), tuple(parts))


def _message(status: Status, message: str) -> str:
    if status.state is State.OK:
        return message
    worst, more = status.conditions[0], len(status.conditions) - 1
    if not more:
        return worst.message
    return f"{worst.message} {more} more {'condition' if more == 1 else 'conditions'}."
