"""Bindings that decode typed rows and merge events. `spark_jobs.arrow` and `spark_jobs.merge` are
the public interface."""

from collections.abc import Mapping, Sequence, Set
from typing import Final, Literal, final

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
        """Raise SchemaError unless exactly one table matches."""
    table_schema: Final[Schema]
    """The schema of this table only."""
    def visible(
        self,
        form: Literal["rows", "typed", "first_changes"],
        *,
        now_s: int,
        truncated_us: int | None = None,
        until_us: int | None = None,
        without_us: tuple[int, int] | None = None,
    ) -> MergeSession:
        """Visible rows with raw values (`rows`), with the columns of `SELECT *` (`typed`), or as
        changes from an empty table (`first_changes`). For these, all input must be `is_new`."""
    def changes(
        self,
        *,
        before_s: int,
        after_s: int,
        each: bool,
        before_truncated_us: int | None = None,
        after_truncated_us: int | None = None,
    ) -> MergeSession:
        """Changes of visible rows, caused by new events, a truncation and expiry."""
    def compact(
        self,
        *,
        purge_before_s: int | None = None,
        truncated_us: int | None = None,
        keep_superseded: bool = False,
    ) -> MergeSession:
        """Row states. With `keep_superseded`, also states of the dropped versions."""

@final
class MergeSession:
    """One pass over sorted record batches. Only one thread may use it at a time."""

    def push(self, batch: object) -> None:
        """Add a batch, after `next_batch` has returned None."""
    def finish(self) -> None:
        """End the input."""
    def next_batch(self) -> RowBatch | None:
        """Return the next batch of the output; None if more input is needed, or at the end.
        Releases the GIL."""
    def __arrow_c_schema__(self) -> object:
        """The columns of the output."""

@final
class EventIntake:
    """Reads the member `cells` of event values (`spark_jobs.merge.EventReader`). Immutable."""

    def __new__(cls, counters: Set[str]) -> EventIntake: ...
    def read(self, batch: object) -> RowBatch:
        """Return a row for each value in column `value`. Raise ValueError if it is missing."""
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
        """Raise SchemaError unless exactly one table matches, ValueError for invalid options.

        - `show`: by column name, `raw`, or `decimal(p,s)` for its decimals and varints.
        - `partition_key`, `clustering`: columns with whole partition keys and lists of clustering
          values, instead of one column per key column.
        - `carry`: columns to pass through unchanged, before the typed columns."""
    table_schema: Final[Schema]
    """The schema of this table only."""
    def decode(self, batch: object) -> RowBatch:
        """Decode a record batch whose columns have the table's column names. Releases the GIL.

        A column is binary; a multi-cell column is `list<struct<path: binary, value: binary>>`. A
        missing column is null. Raise ValueError for unknown columns and column types,
        MalformedValueError for bytes that do not fit their type."""
    def __arrow_c_schema__(self) -> object:
        """The typed columns, in the order of `SELECT *`."""
