"""Appends changes to an Iceberg table, each exactly once: the commit of a batch names its position.

The table is never read to find repeated changes: only its newest position counts. Columns are added
when the source has new ones, and never dropped.
"""

from collections.abc import Iterator, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

from spark_jobs.changes.changes_table import change_rows
from spark_jobs.changes.envelope import PublishedTable
from spark_jobs.changes.journal import BegunBatch
from spark_jobs.column_names import ROW_ID
from spark_jobs.tables.columns import Add, ColumnChange, Columns, nullable, type_changes
from spark_jobs.tables.commit_position import CommitPosition
from spark_jobs.tables.format.iceberg import IcebergTypedTable
from spark_jobs.tables.format.protocol import TableDefinition, newest_position
from spark_jobs.tables.net_changes import OP, ROW, NetChanges


class IcebergChangesTable:
    """The Iceberg table of the changes of one table: typed rows before and after each change."""

    def __init__(
        self, session: SparkSession, name: Sequence[str], table: PublishedTable, app: str
    ) -> None:
        """`app` is unique for each checkpoint."""
        self._target = IcebergTypedTable(session, name)
        self._table = table
        self._app = app

    def end_offsets(self) -> dict[int, int]:
        return {}

    def write(self, changes: DataFrame, batch: BegunBatch, *, is_resumed: bool) -> None:
        """Append the changes, unless the newest commit of this job has them.

        Raises `ColumnChangeError` for a column that has another type now.
        """
        position = self._position(batch)
        rows = change_rows(changes, self._table, batch)
        wanted = nullable(rows.schema)
        wanted.pop(ROW_ID)
        stored = {name: self._target.stored_type(kind) for name, kind in wanted.items()}
        if not self._target.exists():
            self._target.create(TableDefinition(self._app, self._table.id, stored))
        elif is_resumed and position.is_of_batch(newest_position(self._target.commits())):
            return
        self._target.evolve(list(_new_columns(self._target.columns(), stored)))
        columns = self._target.columns()
        row = F.struct(*(_fitted(rows, name, kind) for name, kind in columns.items()))
        frame = rows.select(ROW_ID, F.lit("c").alias(OP), row.alias(ROW))
        # Every change is a new row of this table. The number only tells that there are some.
        self._target.commit(NetChanges(frame, columns, inserts=1, matched=0), position)

    def _position(self, batch: BegunBatch) -> CommitPosition:
        offsets = {
            topic: {str(partition): end for partition, end in ends.items()}
            for topic, ends in batch.offsets.items()
        }
        after = batch.after
        return CommitPosition(
            self._app, self._table.id, after.store_version, after.second, offsets=offsets
        )


def _new_columns(existing: Columns, wanted: Columns) -> Iterator[ColumnChange]:
    """The changes of `before` and `after` to have the columns of the source too."""
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
    """A column with the type of the table. Columns that the source no longer has are null."""
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
