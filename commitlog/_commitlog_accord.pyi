"""Type stubs of the Accord journal reader. Offsets count from the start of a journal segment."""

from collections.abc import Sequence
from typing import Final, Literal, final

from commitlog._commitlog_schema import Schema

__all__ = ["AccordRead", "AccordReader", "ColumnIds"]

@final
class ColumnIds:
    """The ids by which transactions identify columns. Immutable."""

    def __new__(cls, entries: Sequence[tuple[int, int, bytes]]) -> ColumnIds:
        """Derive the ids from epoch, kind and transformation of all rows of
        `system.local_metadata_log`, in epoch order."""

@final
class AccordRead:
    """Result of one read: mutations in the order in which the node applied them."""

    offset: Final[int]
    """Offset of the next entry."""
    mutations: Final[int]
    """Number of mutations."""
    stop: Final[Literal["needs_bytes", "unwritten", "incomplete", "full", "blocked", "undecodable"]]
    """`needs_bytes`: the data ends inside an entry. `unwritten`: the node has written no more
    entries. `incomplete`: the next entry is partly written or damaged. `full`: the limit is
    reached. `blocked`: schema or ids are incomplete. `undecodable`: the entry cannot be decoded."""
    end: Final[int | None]
    """End of the next entry after `needs_bytes`, `incomplete` and `undecodable`, otherwise None."""
    error: Final[str]
    """The cause of `blocked` or `undecodable`, otherwise empty."""

    def segment(self, id: int) -> bytes:
        """Return the mutations as a commit-log segment with this id. Its last 8 bytes are zero."""

@final
class AccordReader:
    """Combines the entries of one node's journal into transactions."""

    waiting: Final[tuple[int, int | None]]
    """Number of transactions not yet applied, and the start of the oldest in microseconds."""

    def __new__(cls, stored: bytes) -> AccordReader:
        """Restore the result of `to_stored`, or start empty. Raise ValueError for other bytes."""
    def read(
        self, data: bytes, offset: int, schema: Schema, ids: ColumnIds, limit: int
    ) -> AccordRead:
        """Read about `limit` bytes of mutations from `data`, whose first entry is at `offset`."""
    def skip(self, data: bytes, offset: int) -> int | None:
        """Skip the next entry and drop its transaction. Return the offset after the entry, or None
        in the cases `needs_bytes` and `unwritten`."""
    def to_stored(self) -> bytes:
        """Serialise the transactions not yet applied."""
