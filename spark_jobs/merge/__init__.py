"""The merge of the events of a table, in Rust: visible rows, changes and row states.

Only this module and `spark_jobs.arrow` need `pyarrow`. A merger can be pickled, so it works in
Spark:

    frame.mapInArrow(lambda batches: merger.typed(batches, now_s=now_s), spark_schema)

The input of every method are batches whose rows are sorted so that equal tokens are adjacent, also
across batches. Columns, of which others are ignored:

- `token`: int64
- `event`: string, JSON text with the member `cells` (docs/reference/event-format.md), or null
- `state`: binary, a row state from `compact`, or null. Each row has an event or a state.
- `is_new`: bool, for `changes` alone

One partition is in memory at a time. For exact results the input has all events and states of a
row and of its partition level. In tables with static columns, and for `compact`, it has those of
the whole partition. Methods raise ValueError for invalid events, states and columns, and
MalformedValueError for bytes that do not fit their type.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

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
    """Reads values of topics before they are stored. Can be pickled.

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
        """A row for each row of batches with `place` (string) and `value` (binary).

        `event` has the member `cells` alone. A `Merger` accepts every `event`. A value that no
        `Merger` accepts has an `error`, and no other column except `place`.
        """
        for batch in batches:
            found = pa.record_batch(self._intake.read(batch.select(["value"])))
            place = batch.column("place").cast(pa.string())
            yield pa.record_batch([place, *found.columns], schema=self.schema)

    def __reduce__(self) -> tuple[Any, ...]:
        return EventReader, (self._counters,)


class Merger:
    """Merges the events of one table. The arguments are those of `TableMerger`."""

    def __init__(
        self,
        schema: Schema,
        keyspace: str,
        table: str,
        *,
        table_id: str | None = None,
    ) -> None:
        self._table = (keyspace, table, table_id)
        self._merger = TableMerger(schema, keyspace, table, table_id=table_id)

    @property
    def rows_schema(self) -> pa.Schema:
        """The columns of `rows`."""
        return pa.schema(self._merger.rows(now_s=0))

    @property
    def typed_schema(self) -> pa.Schema:
        """`cdc_row_id`, then the columns of `SELECT *`."""
        return pa.schema(self._merger.typed(now_s=0))

    @property
    def changes_schema(self) -> pa.Schema:
        """The columns of `changes`."""
        return pa.schema(self._merger.changes(before_s=0, after_s=0, each=False))

    def rows(
        self,
        batches: Iterable[pa.RecordBatch],
        *,
        now_s: int,
        truncated_us: int | None = None,
        until_us: int | None = None,
        without_us: tuple[int, int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The visible rows at a second, with raw values, in the order of `SELECT *`.

        `ck` is null in the single row of a partition that has only static values. `live` is the
        row marker of an INSERT, or null. `value` of a counter is the sum, in eight bytes.

        - `truncated_us`: writes up to this time are not visible.
        - `until_us`: only writes up to this time count.
        - `without_us`: writes from the first to the second time do not count, both included. The
          deletion of a replaced collection counts at the time of its statement, one microsecond
          after its own."""
        session = self._merger.rows(
            now_s=now_s, truncated_us=truncated_us, until_us=until_us, without_us=without_us
        )
        return _run(session, batches)

    def typed(
        self,
        batches: Iterable[pa.RecordBatch],
        *,
        now_s: int,
        truncated_us: int | None = None,
        until_us: int | None = None,
        without_us: tuple[int, int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The visible rows at a second with the columns of `typed_schema`; options as in `rows`.

        `cdc_row_id` is a hash of the partition key and the clustering, in 16 bytes."""
        session = self._merger.typed(
            now_s=now_s, truncated_us=truncated_us, until_us=until_us, without_us=without_us
        )
        return _run(session, batches)

    def first_changes(
        self,
        batches: Iterable[pa.RecordBatch],
        *,
        now_s: int,
        truncated_us: int | None = None,
        until_us: int | None = None,
        without_us: tuple[int, int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of `typed` as `changes` of a table that had none; options as in `rows`.

        A row with a value that has no typed form is `rejected`. Every input row has `is_new`."""
        session = self._merger.first_changes(
            now_s=now_s, truncated_us=truncated_us, until_us=until_us, without_us=without_us
        )
        return _run(session, batches)

    def changes(
        self,
        batches: Iterable[pa.RecordBatch],
        *,
        before_s: int,
        after_s: int,
        before_truncated_us: int | None = None,
        after_truncated_us: int | None = None,
        each: bool,
    ) -> Iterator[pa.RecordBatch]:
        """What the input with `is_new`, a truncation and the time change in visible rows.

        `before_s` is not after `after_s`. `each`: one change for each distinct write time (the
        largest in an event) that changes a row, evaluated at `before_s`, then one for expiry up to
        `after_s`. Otherwise at most one net change for each row. A change has another value in at
        least one column; write times do not matter. Columns:

        - `cdc_row_id`, `token`, `ck`: the row; `ck` is null for the row of a partition that has
          only static values
        - `seq`, `is_last`: the order of the changes of one row
        - `existed`: the row was visible before all of them
        - `op`: `c`, `u`, `d`; null if only `next_expiry_s` is new
        - `cause`, `ts_us`: `write` and its largest write time, or `expiry` and its second, both in
          microseconds
        - `before`, `after`: the columns of `SELECT *`; null if the row is not visible
        - `next_expiry_s`: in the last change of a row, when it or its static values expire next
        - `rejected`: the row and the reason, if the row has a legal value without a typed form (a
          `timestamp` beyond 64-bit microseconds). Such a row counts as one that is not visible.

        The cost is linear, except that each change of static values, ranges and whole partitions
        evaluates all rows it may affect."""
        session = self._merger.changes(
            before_s=before_s,
            after_s=after_s,
            before_truncated_us=before_truncated_us,
            after_truncated_us=after_truncated_us,
            each=each,
        )
        return _run(session, batches)

    def compact(
        self,
        batches: Iterable[pa.RecordBatch],
        *,
        purge_before_s: int | None = None,
        truncated_us: int | None = None,
        keep_superseded: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Row states: the latest version of each cell, liveness and deletion of a row.

        A state replaces its events in the input of every method, also if repeated or merged with
        more events. The columns are those of `COMPACT_SCHEMA`.

        - `purge_before_s`: drop deletions, tombstones and expired values from before this second,
          and all that any deletion covers
        - `truncated_us`: drop values up to this write time
        - `keep_superseded`: return the dropped versions too, in states with `is_superseded`.
          `rows(until_us=…)` needs them."""
        session = self._merger.compact(
            purge_before_s=purge_before_s,
            truncated_us=truncated_us,
            keep_superseded=keep_superseded,
        )
        return _run(session, batches)

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
