"""The health of an agent, as `/health`, the page, the metrics and the log report it.

A component has the state of its worst condition.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sidecar.health.condition import Condition, State, Status, worst_state


@dataclass(frozen=True, slots=True)
class Component:
    """The health of one part of an agent, such as the sink or the schema."""

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
