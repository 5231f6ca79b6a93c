"""The facts that the agent's status follows from. The defaults are those of a healthy agent."""

from dataclasses import dataclass, field
from pathlib import Path

from agent.accord.journal import AccordView
from agent.cdc_raw.quota import Quota
from agent.check.publication import Publication
from agent.check.unlogged import UnloggedWrites
from agent.pipeline.view import BlockedView
from agent.quarantine.scanner import QuarantineUsage
from agent.snapshot.status import SnapshotFacts
from agent.transfer.transfer import Backlog
from sidecar.status.facts import ServiceFacts


@dataclass(frozen=True, slots=True)
class SchemaFacts:
    tables: int = 1
    error: str = ""
    """Why the last request for them failed; empty when it did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts(ServiceFacts):
    schema: SchemaFacts = field(default_factory=SchemaFacts)
    cdc_raw_directory: Path = Path("cdc_raw")
    raw_bytes: int = 0
    quota: Quota = field(default_factory=lambda: Quota(limit_bytes=1 << 32))
    blocked: BlockedView | None = None
    read_error: str = ""
    """Why `cdc_raw` cannot be read; empty while it can."""
    irregular_segments: tuple[str, ...] = ()
    """Names of segments in `cdc_raw` that are links or not regular files."""
    watch_error: str = ""
    """Why inotify does not report changes in `cdc_raw`; empty while it does."""
    pinned_by_link: tuple[str, ...] = ()
    """Segments that are not final because another hard link exists."""
    removal_error: str = ""
    """Why finished segments stay in `cdc_raw`."""
    retry_error: str = ""
    """Why a quarantined segment cannot be requeued."""
    quarantine: QuarantineUsage = field(default_factory=QuarantineUsage)
    watermark_error: str = ""
    """Why the node was not probed for the last watermark; empty without watermarks."""
    accord: AccordView | None = None
    """None without the capture of transactions."""
    backlog: Backlog | None = None
    snapshot: SnapshotFacts = field(default_factory=SnapshotFacts)
    publication: Publication | None = None
    """None while no schema is known."""
    unlogged: UnloggedWrites = field(default_factory=UnloggedWrites)
