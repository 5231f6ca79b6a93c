"""The facts that the status of every agent follows from, and their conditions. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from sidecar.check.finding import Finding
from sidecar.health.condition import Condition, State
from sidecar.schema_registry.health import registry_conditions
from sidecar.sinks.base import SinkState
from sidecar.status.sink import sink_conditions


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFacts:
    """An agent at one moment; the defaults are those of an agent for which all is well."""

    is_started: bool = True
    """There is a pipeline."""
    is_stopping: bool = False
    stalled_s: float = 0.0
    """Seconds since the last tick, when that is too long; else 0."""
    sink: SinkState = field(default_factory=lambda: SinkState(True, "events go through"))
    unacknowledged_events: int = 0
    save_error: str = ""
    """Why the agent cannot store its progress."""
    record_error: str = ""
    """Why the agent cannot write to the quarantine, so that delivery waits."""
    registry_error: str = ""
    """Why a schema has no id."""
    findings: tuple[Finding, ...] = ()
    """Of the checks that are repeated while the agent runs."""


def starting(component: str) -> Condition:
    """An agent without a pipeline and without an error."""
    message = "The agent starts and does not deliver events yet."
    return Condition("starting", State.FAILING, component, message, "Wait.")


def stalled(facts: ServiceFacts) -> Iterator[Condition]:
    """A loop that makes no ticks."""
    if facts.stalled_s:
        yield Condition(
            "pipeline_stalled",
            State.FAILING,
            "pipeline",
            f"The pipeline made no progress for {facts.stalled_s:.0f} s.",
            "Look for a disk or a broker client that hangs, then restart the agent.",
        )


def undelivered(facts: ServiceFacts, *, subject: str, check: str) -> Iterator[Condition]:
    """As `sink_conditions`; none for a sink that is closed at the end."""
    if not facts.is_stopping or facts.unacknowledged_events:
        yield from sink_conditions(facts.sink, subject=subject, check=check)


def unsaved(facts: ServiceFacts, *, consequence: str) -> Iterator[Condition]:
    """Progress that is not durable; `consequence` is a sentence."""
    if facts.save_error:
        yield Condition(
            "offsets_not_saved",
            State.DEGRADED,
            "offsets",
            f"{facts.save_error} {consequence}",
            "Free space in offset.backing.store.dir, or let the agent's user write there.",
        )


def unrecorded(facts: ServiceFacts, *, remedy: str) -> Iterator[Condition]:
    """Dead letters that the quarantine cannot take."""
    if facts.record_error:
        yield Condition(
            "quarantine_not_writable", State.FAILING, "quarantine", facts.record_error, remedy
        )


def unregistered(facts: ServiceFacts) -> Iterator[Condition]:
    """Schemas without an id."""
    if facts.registry_error:
        yield from registry_conditions(facts.registry_error)
