"""A batch of net changes in the form that both formats write."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.column_names import ROW_ID
from spark_jobs.tables.columns import Columns, quoted

OP, ROW = "op", "row"
MERGE_SETTINGS = {"spark.sql.autoBroadcastJoinThreshold": str(256 << 20)}
"""Settings of the session for a MERGE.

A larger source is joined by sorting, because each executor holds a broadcast whole. Spark ignores a
hint in the source of an Iceberg MERGE.
"""


@dataclass(frozen=True, slots=True)
class NetChanges:
    """At most one change for each row."""

    frame: DataFrame
    """The columns `cdc_row_id`, `op` (c, u or d) and `row`."""
    columns: Columns
    """The columns of the table, without `cdc_row_id`, in the order of `row`."""
    inserts: int
    matched: int
    """Number of updates and deletes."""

    @property
    def is_empty(self) -> bool:
        return not self.inserts and not self.matched

    def __str__(self) -> str:
        return f"insert {self.inserts:,} rows, update or delete {self.matched:,}"


def net_changes(changes: DataFrame, columns: Columns, counts: Mapping[str, int]) -> NetChanges:
    """The changes for a table with these `columns`, without `cdc_row_id`.

    `changes` has the columns of `commitlog.merge.Merger.changes`, and `counts` their number by
    `op`. They are read several times, so they should be cached.
    """
    after = F.col("after")
    row = F.struct(*(after[name].cast(kind).alias(name) for name, kind in columns.items()))
    frame = changes.where(F.col(OP).isNotNull()).select(
        ROW_ID, OP, F.when(after.isNotNull(), row).alias(ROW)
    )
    return NetChanges(frame, columns, counts["c"], counts["u"] + counts["d"])


def merge_statement(target: str, changes: NetChanges, view: str) -> str:
    """The MERGE of updates and deletes. It only has matched clauses, so it is an inner join.

    The row ids of the table are read once for the join; a row that did not exist is not looked for.
    """
    assignments = ", ".join(f"t.{quoted(name)} = s.{quoted(ROW, name)}" for name in changes.columns)
    return (
        f"MERGE INTO {target} AS t USING (SELECT * FROM {quoted(view)} WHERE {OP} <> 'c') "
        f"AS s ON t.{ROW_ID} = s.{ROW_ID} "
        f"WHEN MATCHED AND s.{OP} = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET {assignments}"
    )


def insert_statement(
    target: str, changes: NetChanges, view: str, *, with_updates: bool = False
) -> str:
    """The INSERT of rows that did not exist before the batch, and of updated rows."""
    names = ", ".join(quoted(name) for name in changes.columns)
    values = ", ".join(quoted(ROW, name) for name in changes.columns)
    return (
        f"INSERT INTO {target} ({ROW_ID}, {names}) "
        f"SELECT {ROW_ID}, {values} FROM {quoted(view)} "
        + (f"WHERE {OP} <> 'd'" if with_updates else f"WHERE {OP} = 'c'")
    )
