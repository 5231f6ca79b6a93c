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
    rows = _joined(_of_rows(now), _of_rows(then), "pk", "ck")
    statics = _joined(_of_statics(now), _of_statics(then), "pk")
    undo = partial(_undo, writer, ts_us)
    return rows.mapInArrow(undo, _ROWS).unionByName(statics.mapInArrow(undo, _ROWS))


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
    """Statements for rows, or for the static values of partitions, which have no `ck`."""

    def statements() -> Iterator[str]:
        for row in _rows(batches):
            now, then = (row[side] and {"pk": row["pk"], **row[side]} for side in ("now", "then"))
            if "ck" in row:
                yield from writer.undo(now, then, ts_us)
            else:
                before, after = (() if side is None else side["cells"] for side in (now, then))
                yield from writer.undo_statics(row["pk"], before, after, ts_us)

    return _batches(statements())


def _of_rows(rows: DataFrame) -> DataFrame:
    """The rows of the table, with their content as `shown`."""
    found = rows.where(F.col("ck").isNotNull())
    return found.select("pk", "ck", F.struct("ckv", "live", "cells").alias("shown"))


def _of_statics(rows: DataFrame) -> DataFrame:
    """One row per partition with static values."""
    found = rows.where(F.size("statics") > 0)
    statics = found.groupBy("pk").agg(F.first("statics").alias("statics"))
    return statics.select("pk", F.struct(F.col("statics").alias("cells")).alias("shown"))


def _joined(now: DataFrame, then: DataFrame, *key: str) -> DataFrame:
    """The rows with different content, as `now` and `then`; null for a missing row."""
    both = now.withColumnRenamed("shown", "now").join(
        then.withColumnRenamed("shown", "then"), [*key], "full"
    )
    differ = ~_content(both, "now").eqNullSafe(_content(both, "then"))
    return both.where(differ)


def _content(rows: DataFrame, side: str) -> Column:
    """What a row shows now and later, without write times."""
    cells = F.transform(F.col(side)["cells"], lambda cell: cell.dropFields("ts", "ttl"))
    content = [cells.alias("cells")]
    if "ck" in rows.columns:
        content.append(F.col(side)["live"].dropFields("ts", "ttl").alias("live"))
    return F.when(F.col(side).isNotNull(), F.struct(*content))


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
