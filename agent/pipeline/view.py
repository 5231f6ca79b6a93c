"""What the pipeline shows of itself: a frozen value that any thread may look at."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent.quarantine import Usage
from agent.segments import Phase, Segment, SegmentOffsets
from agent.transfer import Backlog
from sidecar.sinks.base import SinkState


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
    sink: SinkState
    segments: tuple[Segment, ...] = ()
    count_by_phase: Mapping[Phase, int] = field(default_factory=dict)
    blocked: BlockedView | None = None
    is_stopping: bool = False
    unacknowledged_events: int = 0
    unacknowledged_age_s: float = 0.0
    window_bytes: int = 0
    lag_bytes: int = 0
    lag_s: float = 0.0
    raw_bytes: int = 0
    raw_growth_bytes_per_s: float | None = None
    """None while nobody can say."""
    look_trouble: str = ""
    """Why cdc_raw cannot be looked at; empty where it can."""
    watch_trouble: str = ""
    """Why changes in cdc_raw do not wake the agent; empty where they do."""
    refused_files: tuple[str, ...] = ()
    """What lies in cdc_raw and is no segment."""
    irregular_segments: tuple[str, ...] = ()
    """Those of them with the name of a segment or index."""
    save_trouble: str = ""
    copy_save_trouble: str = ""
    """Why the progress of copies is not stored; empty where it is."""
    leave_trouble: str = ""
    """Why segments and events cannot leave; the next three together."""
    record_trouble: str = ""
    """Why the quarantine takes nothing, so that reading waits."""
    removal_trouble: str = ""
    """Why finished segments stay in cdc_raw."""
    retry_trouble: str = ""
    """Why a quarantined segment cannot be put back."""
    quarantine: Usage = field(default_factory=Usage)
    backlog: Backlog | None = None
    """Of the transfer; None where segments are dealt with at once."""
