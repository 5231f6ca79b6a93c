"""The partitions of a snapshot, and their pages on the way to the pipeline."""

from dataclasses import dataclass

from agent.snapshot.ring import TokenRange
from commitlog import EventBatch


@dataclass(frozen=True, slots=True)
class SnapshotPartition:
    """Whose tokens the positions of a batch are: what the window calls a source."""

    table_id: str
    table: str
    range: TokenRange
    begun_us: int
    """Of a copy that was begun again meanwhile the older batches say nothing."""

    @property
    def log(self) -> str:
        """Names the file of refused events in the quarantine."""
        return f"snapshot-{self.table}"

    def __str__(self) -> str:
        return f"snapshot of {self.table}"


@dataclass(frozen=True, slots=True)
class EncodedPage:
    """A page as events, to be delivered."""

    source: SnapshotPartition
    batch: EventBatch
    start: int
    """Position in front of it."""
