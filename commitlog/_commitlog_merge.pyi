"""The merge of events in the extension module.

No module has this name; `commitlog.merge` is the public interface."""

from collections.abc import Set
from typing import Final, final

from commitlog._commitlog import RowBatch, Schema

@final
class TableMerger:
    """Merges the events of one table (`commitlog.merge.Merger`). Immutable."""

    def __new__(
        cls,
        schema: Schema,
        keyspace: str,
        table: str,
        *,
        table_id: str | None = None,
    ) -> TableMerger:
        """Raise SchemaError unless exactly one such table exists."""
    table_schema: Final[Schema]
    """The schema of this table only."""
    def rows(
        self,
        *,
        now_s: int,
        truncated_us: int | None = None,
        until_us: int | None = None,
        without_us: tuple[int, int] | None = None,
    ) -> MergeSession:
        """Visible rows with raw values."""
    def typed(
        self,
        *,
        now_s: int,
        truncated_us: int | None = None,
        until_us: int | None = None,
        without_us: tuple[int, int] | None = None,
    ) -> MergeSession:
        """Visible rows with the columns of `SELECT *`."""
    def first_changes(
        self,
        *,
        now_s: int,
        truncated_us: int | None = None,
        until_us: int | None = None,
        without_us: tuple[int, int] | None = None,
    ) -> MergeSession:
        """Visible rows as the changes of a table that had none. Every input row is new."""
    def changes(
        self,
        *,
        before_s: int,
        after_s: int,
        each: bool,
        before_truncated_us: int | None = None,
        after_truncated_us: int | None = None,
    ) -> MergeSession:
        """Changes of visible rows."""
    def compact(
        self,
        *,
        purge_before_s: int | None = None,
        truncated_us: int | None = None,
        keep_superseded: bool = False,
    ) -> MergeSession:
        """Row states."""

@final
class MergeSession:
    """One pass over sorted record batches. For one thread at a time."""

    def push(self, batch: object) -> None:
        """Add a batch, after `next_batch` has returned None."""
    def finish(self) -> None:
        """End the input."""
    def next_batch(self) -> RowBatch | None:
        """The next batch of the output; None if it needs more input, or at the end. Releases the
        GIL."""
    def __arrow_c_schema__(self) -> object:
        """The columns of the output."""

@final
class EventIntake:
    """Reads the member `cells` of values (`commitlog.merge.EventReader`). Immutable."""

    def __new__(cls, counters: Set[str]) -> EventIntake: ...
    def read(self, batch: object) -> RowBatch:
        """A row for each value of a batch with a column `value`. Raise ValueError without it."""
    def __arrow_c_schema__(self) -> object:
        """The columns of `read`."""
