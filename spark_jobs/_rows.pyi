"""Typed rows and the merge of events. `spark_jobs.arrow` and `spark_jobs.merge` are the public
interface."""

from collections.abc import Mapping, Sequence, Set
from typing import Final, final

from commitlog import Schema

__all__ = ["EventIntake", "MergeSession", "RowBatch", "RowDecoder", "TableMerger"]

@final
class TableMerger:
    """Merges the events of one table (`spark_jobs.merge.Merger`). Immutable."""

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
    """Reads the member `cells` of values (`spark_jobs.merge.EventReader`). Immutable."""

    def __new__(cls, counters: Set[str]) -> EventIntake: ...
    def read(self, batch: object) -> RowBatch:
        """A row for each value of a batch with a column `value`. Raise ValueError without it."""
    def __arrow_c_schema__(self) -> object:
        """The columns of `read`."""

@final
class RowBatch:
    """Typed rows for consumers of Arrow's C data interface (`pyarrow.record_batch`)."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

@final
class RowDecoder:
    """Decodes raw rows of one table to typed rows (docs/reference/types.md). Immutable."""

    def __new__(
        cls,
        schema: Schema,
        keyspace: str,
        table: str,
        *,
        table_id: str | None = None,
        show: Mapping[str, str] = ...,
        partition_key: str | None = None,
        clustering: str | None = None,
        carry: Sequence[str] = ...,
    ) -> RowDecoder:
        """Raise SchemaError unless exactly one such table exists, ValueError for invalid options.

        - `show`: by column `raw`, or `decimal(p,s)` for its decimals and varints.
        - `partition_key`, `clustering`: columns with whole partition keys and lists of clustering
          values, instead of one for each key column.
        - `carry`: columns to pass through; they come first."""
    table_schema: Final[Schema]
    """The schema of this table only."""
    def decode(self, batch: object) -> RowBatch:
        """Decode a record batch whose columns have the table's column names. Releases the GIL.

        A column is binary, or `list<struct<path: binary, value: binary>>` if it is stored cell by
        cell. A missing column is null. Raise ValueError for other columns, MalformedValueError for
        bytes that do not fit their type."""
    def __arrow_c_schema__(self) -> object:
        """The typed columns, in the order of `SELECT *`."""
