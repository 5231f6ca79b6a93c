"""The published state of the pipeline: a frozen value for any thread."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent.accord.journal import AccordView
from agent.cdc_raw.names import SegmentName
from agent.quarantine.scanner import QuarantineUsage
from agent.segments.offsets import SegmentOffsets
from agent.segments.state import Phase, Segment
from agent.transfer.transfer import Backlog
from sidecar.status.publisher import DeliveryView


@dataclass(frozen=True, slots=True)
class BlockedView:
    segment: str
    message: str
    for_s: float
    cause: Literal["schema", "registry", "file", "environment"] = "file"
    """The missing thing; the agent waits without end for `environment`, else for a bounded time."""


@dataclass(frozen=True, slots=True)
class View:
    """The pipeline at one moment. Times are `time.monotonic` unless their name says otherwise."""

    at_s: float
    ledger: SegmentOffsets
    stored: SegmentOffsets
    delivery: DeliveryView
    all_segments: Callable[[], tuple[Segment, ...]] = tuple
    """The segments at the time of the call, the oldest first: a copy in each view would cost as
    much as there are segments."""
    pinned_by_link: tuple[SegmentName, ...] = ()
    """The oldest segment that another hard link keeps from being final."""
    count_by_phase: Mapping[Phase, int] = field(default_factory=dict)
    blocked: BlockedView | None = None
    is_stopping: bool = False
    lag_bytes: int = 0
    lag_s: float = 0.0
    raw_bytes: int = 0
    raw_growth_bytes_per_s: float | None = None
    """None while it is not known."""
    read_error: str = ""
    """Why cdc_raw cannot be read; empty while it can."""
    watch_error: str = ""
    """Why inotify does not report changes in cdc_raw; empty while it does."""
    other_files: tuple[str, ...] = ()
    """Files in cdc_raw that are not segments."""
    irregular_segments: tuple[str, ...] = ()
    """Those of them with the name of a segment or index."""
    save_error: str = ""
    snapshot_save_error: str = ""
    """Why the progress of snapshots cannot be saved; empty while it can."""
    record_error: str = ""
    """Why the quarantine takes no records, so that reading waits."""
    removal_error: str = ""
    """Why finished segments stay in cdc_raw."""
    retry_error: str = ""
    """Why a quarantined segment cannot be requeued."""
    quarantine: QuarantineUsage = field(default_factory=QuarantineUsage)
    watermark_error: str = ""
    """Why the node was not probed for the last watermark."""
    accord: AccordView | None = None
    """None without the capture of transactions."""
    backlog: Backlog | None = None
    """Of the transfer; None without a remote store."""
