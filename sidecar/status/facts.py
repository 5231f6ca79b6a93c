"""The facts that determine the status of every agent, and their conditions. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from sidecar.check.check import Finding
from sidecar.health.condition import Condition, Rank, State
from sidecar.quantities import duration_text
from sidecar.schema_registry.registrar import ChangedIds
from sidecar.sinks.base import DEAD_LETTERS_WAITING, SinkState

UNAVAILABLE = frozenset(("sink_unavailable", "sink_access_denied"))
TOPICS = frozenset(("topic_missing", "topic_access_denied", "topic_unavailable"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFacts:
    """An agent at one moment; the defaults describe a healthy agent."""

    is_started: bool = True
    """Whether the pipeline exists."""
    is_stopping: bool = False
    stalled_s: float = 0.0
    """Seconds since the latest tick, if that is too long; else 0."""
    sink: SinkState = field(default_factory=lambda: SinkState(True, "events go through"))
    unacknowledged_events: int = 0
    save_error: str = ""
    """Why the agent cannot store its progress."""
    record_error: str = ""
    """Why the agent cannot write to the quarantine, so that delivery waits."""
    registry_error: str = ""
    """Why a schema has no id."""
    changed_ids: ChangedIds | None = None
    findings: tuple[Finding, ...] = ()
    """Findings of the checks that are repeated while the agent runs."""


def starting(component: str) -> Condition:
    """Build the condition of an agent without a pipeline and without an error."""
    message = "The agent is starting and does not deliver events yet."
    return Condition("starting", State.FAILING, component, message, "Wait.")


def stalled(facts: ServiceFacts) -> Iterator[Condition]:
    """Yield a condition if the loop makes no progress."""
    if facts.stalled_s:
        yield Condition(
            "pipeline_stalled",
            State.FAILING,
            "pipeline",
            f"The pipeline made no progress for {duration_text(facts.stalled_s)}.",
            "Look for a disk or a broker client that hangs, then restart the agent.",
        )


def undelivered(facts: ServiceFacts, *, subject: str, check: str) -> Iterator[Condition]:
    """Yield a condition: failing while nothing is delivered, degraded while only some topics wait,
    none for a sink that is closed at shutdown. `subject` describes the sources of events, such as
    tables; `check` is the command that tests the broker."""
    sink = facts.sink
    if facts.is_stopping and not facts.unacknowledged_events:
        return
    if sink.code == DEAD_LETTERS_WAITING:
        reach = f"Events of some {subject} are" if sink.healthy else "Events are"
        yield Condition(
            "dead_letters_waiting",
            State.DEGRADED if sink.healthy else State.FAILING,
            "sink",
            f"{reach} not delivered: {sink.message}",
            sink.remedy,
            sink.detail,
            Rank.LATE,
        )
    elif not sink.healthy:
        yield Condition(
            sink.code or "sink_unavailable",
            State.FAILING,
            "sink",
            f"Events are not delivered: {sink.message}",
            sink.remedy or f"Start the broker or correct what it rejects; `{check}` verifies both.",
            sink.detail,
        )
    elif sink.topics:
        yield Condition(
            sink.code or "topic_unavailable",
            State.DEGRADED,
            "sink",
            f"Events of some {subject} are not delivered: {sink.message}",
            sink.remedy
            or f"Create the topics or let the agent write to them: {', '.join(sink.topics[:5])}.",
            rank=Rank.LATE,
        )


def unsaved(facts: ServiceFacts, *, consequence: str) -> Iterator[Condition]:
    """Yield a condition if progress is not durable; `consequence` is a sentence."""
    if facts.save_error:
        yield Condition(
            "offsets_not_saved",
            State.DEGRADED,
            "offsets",
            f"{facts.save_error} {consequence}",
            "Free space in offset.backing.store.dir, or let the agent's user write there.",
        )


def unrecorded(facts: ServiceFacts, *, remedy: str) -> Iterator[Condition]:
    """Yield a condition if the quarantine cannot store dead letters."""
    if facts.record_error:
        yield Condition(
            "quarantine_not_writable", State.FAILING, "quarantine", facts.record_error, remedy
        )


def unregistered(facts: ServiceFacts) -> Iterator[Condition]:
    """Yield conditions for schemas without an id, and for messages with a wrong id."""
    if (changed := facts.changed_ids) is not None:
        yield Condition(
            "schema_registry_ids_changed",
            State.DEGRADED if changed.is_resolved else State.FAILING,
            "schema_registry",
            changed.message,
            "Restore the data of the registry, or have readers skip these events. To publish them "
            "again, start a snapshot. The agent registers its schemas again, and shows this until "
            "it is restarted.",
        )
    if facts.registry_error:
        yield Condition(
            "schema_registry_unavailable",
            State.DEGRADED,
            "schema_registry",
            f"A schema cannot be registered: {facts.registry_error}",
            "Start the schema registry or correct its properties; `check` verifies them. Events of "
            "registered schemas are still published.",
            rank=Rank.LATE,
        )
