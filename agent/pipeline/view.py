"""What the pipeline shows of itself: a frozen value that any thread may look at."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent.quarantine import QuarantineUsage
from agent.segments import Phase, Segment, SegmentOffsets
from agent.transfer import Backlog
from sidecar.status.publisher import DeliveryView


@dataclass(frozen=True, slots=True)
class BlockedView:
    """Which segment is held, and why."""

    segment: str
    sentence: str
    for_s: float
    cause: Literal["schema", "registry", "file", "environment"] = "file"
    """What the segment waits for; `environment` without end, the others for a bounded time."""


@dataclass(frozen=True, slots=True)
class View:
    """The pipeline at one moment. Times are `time.monotonic` unless their name says otherwise."""

    at_s: float
    ledger: SegmentOffsets
    stored: SegmentOffsets
    delivery: DeliveryView
    segments: tuple[Segment, ...] = ()
    count_by_phase: Mapping[Phase, int] = field(default_factory=dict)
    blocked: BlockedView | None = None
    is_stopping: bool = False
    lag_bytes: int = 0
    lag_s: float = 0.0
    raw_bytes: int = 0
    raw_growth_bytes_per_s: float | None = None
    """None while nobody can say."""
    read_error: str = ""
    """Why cdc_raw cannot be looked at; empty where it can."""
    watch_error: str = ""
    """Why changes in cdc_raw do not wake the agent; empty where they do."""
    refused_files: tuple[str, ...] = ()
    """What lies in cdc_raw and is no segment."""
    irregular_segments: tuple[str, ...] = ()
    """Those of them with the name of a segment or index."""
    save_error: str = ""
    snapshot_save_error: str = ""
    """Why the progress of copies is not stored; empty where it is."""
    record_error: str = ""
    """Why the quarantine takes nothing, so that reading waits."""
    removal_error: str = ""
    """Why finished segments stay in cdc_raw."""
    retry_error: str = ""
    """Why a quarantined segment cannot be put back."""
    quarantine: QuarantineUsage = field(default_factory=QuarantineUsage)
    backlog: Backlog | None = None
    """Of the transfer; None where segments are dealt with at once."""

    @property
    def leave_error(self) -> str:
        """Why segments and events cannot leave; empty where they can."""
        errors = (self.record_error, self.retry_error, self.removal_error)
        return " ".join(each for each in errors if each)
