"""Everything that an agent's status follows from, at one moment. Frozen; the defaults are those of
an agent for which all is well."""

from dataclasses import dataclass, field

from mongo_agent.dead_letters.quarantine import Usage
from mongo_agent.server.oplog_monitor import StreamWarning
from sidecar.check.finding import Finding
from sidecar.sinks.base import SinkState


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """One change stream and the snapshot beside it."""

    name: str = ""
    """Empty where there is only one stream."""
    is_open: bool = True
    sentence: str = "the stream is read"
    concern: StreamWarning | None = None
    """Of the oplog, or of a stream that stands still."""
    snapshot_error: str = ""
    """Why no documents can be read for a snapshot."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The parts of an agent at one moment."""

    is_started: bool = True
    """There is a pipeline."""
    start_error: str = ""
    """Why it does not start; empty while nothing is known of a reason."""
    is_stopping: bool = False
    stalled_s: float = 0.0
    """Seconds since the pipeline's last turn, when that is too long; else 0."""
    sink: SinkState = field(default_factory=lambda: SinkState(True, "events go through"))
    unacknowledged_events: int = 0
    streams: tuple[StreamFacts, ...] = (StreamFacts(),)
    save_error: str = ""
    """Why the position cannot be stored."""
    record_error: str = ""
    """Why the quarantine takes nothing, so that delivery waits."""
    quarantine: Usage = field(default_factory=Usage)
    quarantine_directory: str = "quarantine"
    registry_error: str = ""
    findings: tuple[Finding, ...] = ()
    """Of the checks that are repeated while the agent runs."""
