"""Merges the events of a table into visible rows, changes and row states, in Rust.

A merger can be pickled, so Spark can send it to executors:

    frame.mapInArrow(lambda batches: merger.typed(batches, now_s=now_s), spark_schema)

Every method reads batches in which rows with equal tokens are adjacent, also across batches. It
ignores all columns except these:

- `token`: int64
- `event`: string, JSON text with the member `cells` (docs/reference/event-format.md), or null
- `state`: binary, a row state from `compact`, or null. Each row has an event or a state.
- `is_new`: bool, only for `changes`

Only one partition is in memory at a time. For exact results, the input must contain all events and
states of a row and of its partition level. For tables with static columns, and for `compact`, it
must contain the whole partition. Methods raise ValueError for invalid events, states and columns,
and MalformedValueError for bytes that do not fit their type.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Required, TypedDict, Unpack

import pyarrow as pa

from commitlog import Schema
from spark_jobs._rows import EventIntake, MergeSession, TableMerger

__all__ = ["COMPACT_SCHEMA", "EventReader", "Merger"]

COMPACT_SCHEMA = pa.schema(
    {
        "token": pa.int64(),
        "ck": pa.binary(),
        "state": pa.binary(),
        "is_superseded": pa.bool_(),
    }
)
"""The columns of `Merger.compact`. `ck` is null for the partition level."""


_PLACE = pa.field("place", pa.string())


class EventReader:
    """Reads event values from topics before they are stored. Can be pickled.

    `counters` are the ids of tables whose counters are merged.
    """

    def __init__(self, counters: Collection[str] = ()) -> None:
        self._counters = frozenset(counters)
        self._intake = EventIntake(self._counters)

    @property
    def schema(self) -> pa.Schema:
        """The columns of `read_all`: `place`, `table`, `token`, `ck`, `event` and `error`."""
        return pa.schema([_PLACE, *pa.schema(self._intake)])

    def read_all(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert each row of batches with `place` (string) and `value` (binary).

        `event` contains only the member `cells`. A `Merger` accepts every `event`. For a value that
        no `Merger` accepts, only `place` and `error` are set.
        """
        for batch in batches:
            found = pa.record_batch(self._intake.read(batch.select(["value"])))
            place = batch.column("place").cast(pa.string())
            yield pa.record_batch([place, *found.columns], schema=self.schema)

    def __reduce__(self) -> tuple[Any, ...]:
        return EventReader, (self._counters,)


class ReadOptions(TypedDict, total=False):
    """The second of a read, and the writes that it ignores."""

    now_s: Required[int]
    truncated_us: int | None
    """Ignore writes up to this time."""
    until_us: int | None
    """Ignore writes after this time."""
    without_us: tuple[int, int] | None
    """Ignore writes from the first to the second time, inclusive. For the deletion of a replaced
    collection, the time of its statement counts, which is one microsecond later."""


class ChangeOptions(TypedDict, total=False):
    """The two instants of `Merger.changes`."""

    before_s: Required[int]
    after_s: Required[int]
    before_truncated_us: int | None
    after_truncated_us: int | None
    each: Required[bool]


class CompactOptions(TypedDict, total=False):
    purge_before_s: int | None
    truncated_us: int | None
    keep_superseded: bool


class Merger:
    """Merges the events of one table. Takes the arguments of `TableMerger`."""

    def __init__(
        self, schema: Schema, keyspace: str, table: str, *, table_id: str | None = None
    ) -> None:
        self._table = (keyspace, table, table_id)
        self._merger = TableMerger(schema, keyspace, table, table_id=table_id)

    @property
    def rows_schema(self) -> pa.Schema:
        return pa.schema(self._merger.visible("rows", now_s=0))

    @property
    def typed_schema(self) -> pa.Schema:
        """`cdc_row_id`, then the columns of `SELECT *`."""
        return pa.schema(self._merger.visible("typed", now_s=0))

    @property
    def changes_schema(self) -> pa.Schema:
        return pa.schema(self._merger.changes(before_s=0, after_s=0, each=False))

    def rows(
        self, batches: Iterable[pa.RecordBatch], **options: Unpack[ReadOptions]
    ) -> Iterator[pa.RecordBatch]:
        """The visible rows at a second, with raw values, in the order of `SELECT *`.

        `ck` is null in the single row of a partition that has only static values. `live` is the
        row marker of an INSERT, or null. The `value` of a counter is its sum, in eight bytes."""
        return _run(self._merger.visible("rows", **options), batches)

    def typed(
        self, batches: Iterable[pa.RecordBatch], **options: Unpack[ReadOptions]
    ) -> Iterator[pa.RecordBatch]:
        """The visible rows at a second with the columns of `typed_schema`.

        `cdc_row_id` is a 16-byte hash of the partition key and the clustering key."""
        return _run(self._merger.visible("typed", **options), batches)

    def first_changes(
        self, batches: Iterable[pa.RecordBatch], **options: Unpack[ReadOptions]
    ) -> Iterator[pa.RecordBatch]:
        """The rows of `typed` as `changes` from an empty table.

        A row with a value that has no typed form is `rejected`. All input must be `is_new`."""
        return _run(self._merger.visible("first_changes", **options), batches)

    def changes(
        self, batches: Iterable[pa.RecordBatch], **options: Unpack[ChangeOptions]
    ) -> Iterator[pa.RecordBatch]:
        """The changes in visible rows from new input (`is_new`), a truncation and expiry.

        `before_s` must not be after `after_s`. With `each`, each distinct write time (the largest
        in an event) that changes a row yields a change, evaluated at `before_s`. One more change
        covers expiry up to `after_s`. Otherwise, a row has at most one net change. A change needs a
        different value in at least one column; write times do not matter. Columns:

        - `cdc_row_id`, `token`, `ck`: the row; `ck` is null for the row of a partition that has
          only static values
        - `seq`, `is_last`: the order of the changes of one row
        - `existed`: whether the row was visible before all its changes
        - `op`: `c`, `u`, `d`; null if only `next_expiry_s` is new
        - `cause`, `ts_us`: `write` and its largest write time, or `expiry` and its second, both in
          microseconds
        - `before`, `after`: the columns of `SELECT *`; null if the row is not visible
        - `next_expiry_s`: in the last change of a row, when it or its static values next expire
        - `rejected`: the row and the reason, if a legal value of the row has no typed form (a
          `timestamp` beyond 64-bit microseconds). Such a row counts as not visible.

        The cost is linear, except that each change of static values, ranges or whole partitions
        evaluates all rows that it may affect."""
        return _run(self._merger.changes(**options), batches)

    def compact(
        self, batches: Iterable[pa.RecordBatch], **options: Unpack[CompactOptions]
    ) -> Iterator[pa.RecordBatch]:
        """Row states: the latest version of each cell, liveness and deletion of a row.

        In the input of every method, a state can replace its events, even if it is repeated or
        merged with more events. The output has the columns of `COMPACT_SCHEMA`.

        - `purge_before_s`: drop deletions, tombstones and expired values from before this second,
          and all values that a deletion covers
        - `truncated_us`: drop values up to this write time
        - `keep_superseded`: return the dropped versions too, in states with `is_superseded`.
          `rows(until_us=…)` needs them."""
        return _run(self._merger.compact(**options), batches)

    def __reduce__(self) -> tuple[Any, ...]:
        stored = self._merger.table_schema.to_stored()
        return _from_stored, (stored, *self._table)


def _run(session: MergeSession, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        session.push(batch)
        yield from _ready(session)
    session.finish()
    yield from _ready(session)


def _ready(session: MergeSession) -> Iterator[pa.RecordBatch]:
    while (batch := session.next_batch()) is not None:
        yield pa.record_batch(batch)


def _from_stored(stored: bytes, keyspace: str, table: str, table_id: str | None) -> Merger:
    return Merger(Schema.from_stored(stored), keyspace, table, table_id=table_id)
