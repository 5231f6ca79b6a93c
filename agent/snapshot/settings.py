"""Settings of snapshots."""

from dataclasses import dataclass

from agent.snapshot.plan import SnapshotMode


@dataclass(frozen=True, slots=True)
class SnapshotSettings:
    """What the configuration says of snapshots."""

    mode: SnapshotMode
    consistency: str
    """A name of the driver's `ConsistencyLevel`."""
    scan_interval_ms: int
    rows_per_second: int | None
    """None: no limit."""
    copies_whole_ring: bool
    page_bytes: int
    """Of the events of a page, about."""
