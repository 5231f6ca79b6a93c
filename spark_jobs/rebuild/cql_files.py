"""DataFrames of statements for rebuilt rows, one statement per line.

Python writes the statements row by row, because loading them costs Cassandra and its client far
more."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.rebuild.statements import StatementWriter
from spark_jobs.reconcile.visible_rows import rows_that_differ

STATEMENT = "statement"
_SCHEMA = pa.schema([(STATEMENT, pa.string())])
_ROWS = f"{STATEMENT} STRING"
_MOST_STATEMENTS = 10_000


def load_statements(rows: DataFrame, writer: StatementWriter) -> DataFrame:
    """Statements for an empty table. `rows` is a result of `Merger.rows`, so the rows of a
    partition are adjacent."""
    return rows.mapInArrow(partial(_load, writer), _ROWS)


def undo_statements(
    now: DataFrame, then: DataFrame, writer: StatementWriter, ts_us: int
) -> DataFrame:
    """Statements that turn the rows `now` into the rows `then`. Equal rows need no statement."""
    differing = rows_that_differ({"now": now, "then": then}, ("token", "pk", "ck"), _content)
    return differing.mapInArrow(partial(_undo, writer, ts_us), _ROWS)


def _load(writer: StatementWriter, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    def statements() -> Iterator[str]:
        last: bytes | None = None
        for row in _rows(batches):
            yield from writer.load(row, with_statics=row["pk"] != last)
            last = row["pk"]

    return _batches(statements())


def _undo(
    writer: StatementWriter, ts_us: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Statements for rows, or for the static values of partitions, whose `ck` is null."""

    def statements() -> Iterator[str]:
        for row in _rows(batches):
            now, then = (row[side] and {"pk": row["pk"], **row[side]} for side in ("now", "then"))
            if row["ck"] is not None:
                yield from writer.undo(now, then, ts_us)
            else:
                before, after = (() if side is None else side["cells"] for side in (now, then))
                yield from writer.undo_statics(row["pk"], before, after, ts_us)

    return _batches(statements())


def _content(row: Column) -> Column:
    """What a row shows now and later, without write times."""
    cells = F.transform(row["cells"], lambda cell: cell.dropFields("ts", "ttl"))
    return F.struct(cells, row["live"].dropFields("ts", "ttl"))


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from batch.to_pylist()


def _batches(statements: Iterable[str]) -> Iterator[pa.RecordBatch]:
    found: list[str] = []
    for statement in statements:
        found.append(statement)
        if len(found) == _MOST_STATEMENTS:
            yield pa.record_batch([found], schema=_SCHEMA)
            found = []
    if found:
        yield pa.record_batch([found], schema=_SCHEMA)
