"""Everything that an agent's status follows from, at one moment. Frozen; the defaults are those of
an agent for which all is well."""

from dataclasses import dataclass, field

from mongo_agent.dead_letters.quarantine import Usage
from mongo_agent.server.oplog_monitor import StreamWarning
from sidecar.status.facts import ServiceFacts


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts(ServiceFacts):
    """The parts of an agent at one moment."""

    start_error: str = ""
    """Why it does not start; empty while nothing is known of a reason."""
    streams: tuple[StreamFacts, ...] = (StreamFacts(),)
    quarantine: Usage = field(default_factory=Usage)
    quarantine_directory: str = "quarantine"
