"""Appends changes to a Delta or Iceberg table, each exactly once.

The newest position of an Iceberg table shows whether a batch is repeated, so its rows are not read.
The sink adds new source columns to the table and never drops a column.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

from spark_jobs.changes.envelope import PublishedTable, change_id
from spark_jobs.changes.handler import BegunBatch, ChangeSink
from spark_jobs.column_names import ROW_ID
from spark_jobs.delta_table import ANY_NAMES, append_batch
from spark_jobs.reconcile.store.commits import offsets_to_json
from spark_jobs.tables.columns import Add, ColumnChange, Columns, nullable, type_changes
from spark_jobs.tables.commit_position import CommitPosition
from spark_jobs.tables.format.iceberg import IcebergTypedTable
from spark_jobs.tables.format.typed_table import (
    OP,
    ROW,
    NetChanges,
    TableDefinition,
    newest_position,
)


class ChangesTable(ChangeSink):
    """A Delta table of one table's changes: typed rows before and after each change."""

    def __init__(self, path: str, table: PublishedTable, app: str) -> None:
        """`app` is unique per checkpoint, so that Delta recognizes a repeated batch."""
        self._path = path
        self._table = table
        self._app = app

    def write(self, changes: DataFrame, batch: BegunBatch, *, is_resumed: bool) -> None:
        """Append the changes. Delta skips a batch that it has already committed."""
        rows = change_rows(changes, self._table, batch)
        metadata = {**asdict(batch.after), "offsets": batch.offsets}
        options = {**ANY_NAMES, "mergeSchema": "true", "userMetadata": json.dumps(metadata)}
        append_batch(
            rows, self._path, f"{self._app}/{self._table.source.id}", batch.number, **options
        )


def change_rows(changes: DataFrame, table: PublishedTable, batch: BegunBatch) -> DataFrame:
    op = F.lit("r") if batch.before is None else F.col("op")
    return changes.where(F.col("op").isNotNull()).select(
        change_id(table, batch.after).alias("id"),
        "cdc_row_id",
        F.lit(batch.after.store_version).cast("bigint").alias("store_version"),
        F.lit(batch.after.second).cast("bigint").alias("second"),
        "seq",
        op.alias("op"),
        "cause",
        "ts_us",
        "before",
        "after",
    )


class IcebergChangesTable(ChangeSink):
    """An Iceberg table of one table's changes: typed rows before and after each change."""

    def __init__(
        self, session: SparkSession, name: Sequence[str], table: PublishedTable, app: str
    ) -> None:
        """`app` is unique per checkpoint."""
        self._target = IcebergTypedTable(session, name)
        self._table = table
        self._app = app

    def write(self, changes: DataFrame, batch: BegunBatch, *, is_resumed: bool) -> None:
        """Append the changes, unless this job's newest commit already contains them.

        Raises `ColumnChangeError` for a type change that Iceberg does not support.
        """
        after, offsets = batch.after, offsets_to_json(batch.offsets)
        position = CommitPosition(
            self._app, self._table.source.id, after.store_version, after.second, offsets=offsets
        )
        rows = change_rows(changes, self._table, batch)
        wanted = nullable(rows.schema)
        wanted.pop(ROW_ID)
        stored = {name: self._target.stored_type(kind) for name, kind in wanted.items()}
        if not self._target.exists():
            self._target.create(TableDefinition(self._app, self._table.source.id, stored))
        elif is_resumed and position.is_of_batch(newest_position(self._target.commits())):
            return
        self._target.evolve(list(_new_columns(self._target.columns(), stored)))
        columns = self._target.columns()
        row = F.struct(*(_fitted(rows, name, kind) for name, kind in columns.items()))
        frame = rows.select(ROW_ID, F.lit("c").alias(OP), row.alias(ROW))
        # Every change is a new row of this table. The exact number of inserts does not matter.
        self._target.commit(NetChanges(frame, columns, inserts=1, matched=0), position)


def _new_columns(existing: Columns, wanted: Columns) -> Iterator[ColumnChange]:
    """The column changes that give `before` and `after` the new fields and types of the source."""
    for name, kind in wanted.items():
        if not isinstance(kind, StructType):
            continue
        known = _fields(existing[name])
        for column, wanted_type in _fields(kind).items():
            if column in known:
                yield from type_changes((name, column), known[column], wanted_type)
            else:
                yield Add((name, column), wanted_type)


def _fitted(rows: DataFrame, name: str, kind: DataType) -> Column:
    """A column cast to the table's type. Fields that the source has dropped are null."""
    if not isinstance(kind, StructType):
        return F.col(name).cast(kind).alias(name)
    found = _fields(rows.schema[name].dataType)
    fields = [
        (F.col(name)[column] if column in found else F.lit(None)).cast(of_field).alias(column)
        for column, of_field in _fields(kind).items()
    ]
    return F.when(F.col(name).isNotNull(), F.struct(*fields)).alias(name)


def _fields(kind: DataType) -> dict[str, DataType]:
    assert isinstance(kind, StructType)
    return {field.name: field.dataType for field in kind.fields}
