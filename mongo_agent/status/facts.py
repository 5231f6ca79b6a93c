"""The facts that the agent's status follows from. The defaults are those of a healthy agent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mongo_agent.dead_letters.quarantine import Usage
from mongo_agent.server.monitoring import StreamWarning
from mongo_agent.snapshot.records import ReplacedCollection
from sidecar.sinks.kafka.leader_election.role import Role
from sidecar.status.facts import ServiceFacts


@dataclass(frozen=True, slots=True)
class StreamFacts:
    name: str = ""
    """Empty where there is only one stream."""
    is_open: bool = True
    message: str = "the stream is read"
    concern: StreamWarning | None = None
    """About the oplog, or a stream that does not advance."""
    has_ended: bool = False
    """The agent ends with the error of `message`, which has its remedy."""
    snapshot_error: str = ""
    """Why no documents can be read for a snapshot."""
    replaced: Sequence[ReplacedCollection] = ()
    """Collections whose topics wait for a command to follow them."""
    no_deletes: str = ""
    """Why the agent cannot publish deletes for them; empty if it can."""
    snapshot_rejected: Mapping[str, str] = field(default_factory=dict)
    """The reasons by collection, of those that cannot be copied."""


@dataclass(frozen=True, slots=True)
class ElectionFacts:
    """The place of the agent in the consumer group that elects the leader."""

    group: str
    role: Role
    error: str = ""
    """Why it is no member; empty for a member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts(ServiceFacts):
    start_error: str = ""
    """Why the agent cannot start; empty without a known cause."""
    election: ElectionFacts | None = None
    """None without `standby.enabled`, and before the agent knows the deployment."""
    streams: tuple[StreamFacts, ...] = (StreamFacts(),)
    quarantine: Usage = field(default_factory=Usage)
    quarantine_directory: str = "quarantine"
