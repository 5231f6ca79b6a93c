"""Everything that an agent's status follows from, at one moment. Frozen; the defaults are those of
an agent for which all is well."""

from dataclasses import dataclass, field
from pathlib import Path

from agent.cdc_raw.quota import Quota
from agent.check.publication import Publication
from agent.pipeline.view import BlockedView
from agent.quarantine import QuarantineUsage
from agent.snapshot.status import SnapshotFacts
from agent.transfer import Backlog
from sidecar.check.finding import Finding
from sidecar.sinks.base import SinkState


@dataclass(frozen=True, slots=True)
class SchemaFacts:
    """What is known of the node's tables."""

    tables: int = 1
    error: str = ""
    """Why the last request for them failed; empty when it did not."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The parts of an agent at one moment."""

    is_started: bool = True
    """There is a pipeline. Before that only the schema counts."""
    is_stopping: bool = False
    stalled_s: float = 0.0
    """Seconds since the pipeline's last turn, when that is too long; else 0."""
    schema: SchemaFacts = field(default_factory=SchemaFacts)
    sink: SinkState = field(default_factory=lambda: SinkState(True, "events go through"))
    unacknowledged_events: int = 0
    cdc_raw_directory: Path = Path("cdc_raw")
    raw_bytes: int = 0
    quota: Quota = field(default_factory=lambda: Quota(limit_bytes=1 << 32))
    blocked: BlockedView | None = None
    read_error: str = ""
    """Why `cdc_raw` cannot be read; empty where it can."""
    irregular_segments: tuple[str, ...] = ()
    """Names of segments in `cdc_raw` that are links or not regular files."""
    watch_error: str = ""
    """Why changes in `cdc_raw` do not wake the agent; empty where they do."""
    save_error: str = ""
    """Why progress cannot be stored."""
    record_error: str = ""
    """Why the quarantine takes nothing, so that reading waits."""
    pinned_by_link: tuple[str, ...] = ()
    """Segments that a link elsewhere keeps from becoming final."""
    removal_error: str = ""
    """Why finished segments stay in `cdc_raw`."""
    retry_error: str = ""
    """Why a quarantined segment cannot be put back."""
    quarantine: QuarantineUsage = field(default_factory=QuarantineUsage)
    backlog: Backlog | None = None
    snapshot: SnapshotFacts = field(default_factory=SnapshotFacts)
    registry_error: str = ""
    publication: Publication | None = None
    """None while no schema is known."""
    findings: tuple[Finding, ...] = ()
    """Of the checks that are repeated while the agent runs."""
