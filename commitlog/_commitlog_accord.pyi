"""The reader of Accord's journal. Offsets are those in the journal's segment."""

from collections.abc import Sequence
from typing import Final, Literal, final

from commitlog._commitlog_schema import Schema

__all__ = ["AccordRead", "AccordReader", "ColumnIds"]

@final
class ColumnIds:
    """The ids by which transactions name columns. Immutable."""

    def __new__(cls, entries: Sequence[tuple[int, int, bytes]]) -> ColumnIds:
        """`entries`: epoch, kind and transformation of each row of `system.local_metadata_log`, in
        the order of epochs."""

@final
class AccordRead:
    """What one read found: mutations in the order of their application."""

    offset: Final[int]
    """Offset of the next entry."""
    mutations: Final[int]
    """Their number."""
    stop: Final[Literal["needs_bytes", "unwritten", "incomplete", "full", "blocked", "undecodable"]]
    """`needs_bytes`: the data end in an entry. `unwritten`: the node has written nothing further.
    `incomplete`: the next entry is in flight or damaged. `full`: the limit is reached. `blocked`:
    the schema or the ids lack something. `undecodable`: the next entry is not understood."""
    end: Final[int | None]
    """End of the next entry, of `needs_bytes`, `incomplete` and `undecodable`."""
    error: Final[str]
    """What is wrong with the next entry, of `blocked` and `undecodable`."""

    def segment(self, id: int) -> bytes:
        """A commit-log segment of this id with the mutations. Its last 8 bytes are zero."""

@final
class AccordReader:
    """Joins the entries of one node's journal to transactions."""

    waiting: Final[tuple[int, int | None]]
    """Number of transactions that are not applied, and the start of the oldest one in
    microseconds."""

    def __new__(cls, stored: bytes) -> AccordReader:
        """`stored`: a result of `to_stored`, or empty. Raise ValueError for other bytes."""
    def read(
        self, data: bytes, offset: int, schema: Schema, ids: ColumnIds, limit: int
    ) -> AccordRead:
        """Read `data`, which begin with the entry at `offset`, up to `limit` bytes of mutations."""
    def skip(self, data: bytes, offset: int) -> int | None:
        """Pass over the next entry and end its transaction; the offset after it, or None."""
    def to_stored(self) -> bytes:
        """The transactions that are not applied."""
