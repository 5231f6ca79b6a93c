"""Settings of snapshots."""

from dataclasses import dataclass

from agent.snapshot.plan import SnapshotMode


@dataclass(frozen=True, slots=True)
class SnapshotSettings:
    mode: SnapshotMode
    consistency: str
    """Name of a `ConsistencyLevel` of the driver."""
    scan_interval_ms: int
    rows_per_second: int | None
    """None: no limit."""
    copies_whole_ring: bool
    page_bytes: int
    """Approximate size of the events of a page."""
