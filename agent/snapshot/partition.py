"""One token range of a snapshot, and its pages for the pipeline."""

from dataclasses import dataclass

from agent.snapshot.ring import TokenRange
from commitlog import EventBatch


@dataclass(frozen=True, slots=True)
class SnapshotPartition:
    """A token range of a table: the source of a batch, whose positions are tokens."""

    table_id: str
    table: str
    range: TokenRange
    started_us: int
    """Start of the snapshot. Batches of an earlier start are ignored."""

    @property
    def log(self) -> str:
        """First part of the name of its dead-letter file."""
        return f"snapshot-{self.table}"

    def __str__(self) -> str:
        return f"snapshot of {self.table}"


@dataclass(frozen=True, slots=True)
class EncodedPage:
    source: SnapshotPartition
    batch: EventBatch
    start: int
    """Position before the first event."""
