"""Keeps typed tables up to date with the changes of a version store.

The history of each table is the only record of its position. A new column is filled from the store,
because its values may be older than the position.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from sidecar.logs import fields
from spark_jobs.follow.position import Position
from spark_jobs.job_description import job_description
from spark_jobs.reconcile.source_table import SourceTable
from spark_jobs.reconcile.store import Offsets
from spark_jobs.tables.apply_batch import apply_batch, progress_of
from spark_jobs.tables.columns import ROW_ID, Columns, nullable
from spark_jobs.tables.commit_position import (
    CommitPosition,
    Part,
    fingerprints,
    replaced_columns,
)
from spark_jobs.tables.format.protocol import TargetError, TypedTable
from spark_jobs.tables.net_changes import net_changes
from spark_jobs.tables.options import TargetOptions
from spark_jobs.tables.target import (
    create_table,
    definition,
    evolve,
    open_table,
    require_owner,
)

logger = logging.getLogger(__name__)
ReadChanges = Callable[[SourceTable, Position | None, Position], DataFrame]
"""The net changes of a table between two positions; None is before the first event."""


class TypedTables:
    """A `spark_jobs.follow.ChangeHandler` with one typed table for each source table.

    `app` names the store. `typed_columns` returns the typed columns of a source table, keys first,
    with or without `cdc_row_id`.
    """

    each = False

    def __init__(
        self,
        session: SparkSession,
        options: TargetOptions,
        app: str,
        typed_columns: Callable[[SourceTable], StructType],
        read_changes: ReadChanges,
    ) -> None:
        self._session = session
        self._options = options
        self._app = app
        self._typed_columns = typed_columns
        self._read_changes = read_changes
        self._known: dict[str, CommitPosition | None] = {}
        self.batches = 0

    def position(self, table: SourceTable) -> Position | None:
        """Create or evolve the table, finish the batch of a killed job, and fill new columns.

        Raises `ConfigError`, `TargetError` or `ColumnChangeError`.
        """
        target, columns = self._open(table)
        if not target.exists():
            new = definition(self._options, table.full_name, self._app, table.id, columns)
            create_table(target, self._options, table.full_name, new)
        require_owner(target, self._app, table.id)
        progress = progress_of(target)
        now = self._fingerprints(table, columns)
        if progress.latest is None and not target.read().isEmpty():
            raise TargetError(
                f"{target.sql_name} has rows, but its history no longer names a position. Drop or "
                "rename it, or set another `target`, and start again."
            )
        known = {} if progress.complete is None else progress.complete.columns
        evolve(target, columns, len(columns) - len(now), replaced_columns(known, now))
        complete = progress.complete
        if progress.merged is not None:
            self._finish(target, table, complete, progress.merged)
            complete = progress.merged
        if complete is not None:
            complete = self._fill_new_columns(target, table, complete, now)
        self._known[table.id] = complete
        return None if complete is None else Position(complete.store_version, complete.second)

    def apply(
        self,
        table: SourceTable,
        changes: DataFrame,
        before: Position | None,
        after: Position,
        offsets: Offsets,
    ) -> None:
        """Commit the changes of a table. Raises `TargetError`."""
        target, columns = self._open(table)
        position = CommitPosition(
            self._app,
            table.id,
            after.store_version,
            after.second,
            self._fingerprints(table, columns),
            {
                topic: {str(key): end for key, end in ends.items()}
                for topic, ends in offsets.items()
            },
        )
        batch = net_changes(changes, target.columns())
        with self._described(table, str(batch)):
            apply_batch(target, batch, position, self._known.get(table.id))
        self._known[table.id] = position
        self.batches += 1
        logger.info(
            "batch applied",
            extra=fields(
                table=table.full_name,
                version=after.store_version,
                inserts=batch.inserts,
                updates_and_deletes=batch.matched,
            ),
        )

    def _finish(
        self,
        target: TypedTable,
        table: SourceTable,
        complete: CommitPosition | None,
        merged: CommitPosition,
    ) -> None:
        """Insert the new rows of a batch whose updates are committed."""
        before = None if complete is None else Position(complete.store_version, complete.second)
        after = Position(merged.store_version, merged.second)
        with _cached(self._read_changes(table, before, after)) as changes:
            batch = net_changes(changes, target.columns())
            with self._described(table, f"finish the last batch: {batch}"):
                apply_batch(target, batch, replace(merged, part=Part.WHOLE), complete)

    def _fill_new_columns(
        self,
        target: TypedTable,
        table: SourceTable,
        complete: CommitPosition,
        now: Mapping[str, str],
    ) -> CommitPosition:
        """Set the columns that the rows were computed without."""
        new = [
            name for name, fingerprint in now.items() if complete.columns.get(name) != fingerprint
        ]
        if not new and complete.columns.keys() == now.keys():
            return complete
        position = replace(complete, columns=dict(now), part=Part.REFRESH)
        if not new:
            target.record(position)
            return position
        at = Position(complete.store_version, complete.second)
        has_value = F.lit(False)
        for name in new:
            has_value |= F.col("after")[name].isNotNull()
        rows = self._read_changes(table, None, at).where(has_value).withColumn("op", F.lit("u"))
        with _cached(rows) as changes:
            batch = net_changes(changes, target.columns())
            if batch.is_empty:
                target.record(position)
            else:
                with self._described(table, f"fill new columns: {batch}"):
                    target.commit(batch, position)
        logger.info(
            "new columns filled",
            extra=fields(table=table.full_name, columns=",".join(new), rows=batch.matched),
        )
        return position

    def _described(self, table: SourceTable, what: str) -> AbstractContextManager[None]:
        return job_description(self._session, f"tables: {table.full_name}, {what}")

    def _open(self, table: SourceTable) -> tuple[TypedTable, Columns]:
        columns = nullable(self._typed_columns(table))
        columns.pop(ROW_ID, None)
        return open_table(self._session, self._options, table.full_name), columns

    def _fingerprints(self, table: SourceTable, columns: Columns) -> dict[str, str]:
        """Of the columns that can change; the key cannot."""
        values = {name: kind for name, kind in columns.items() if name in table.columns}
        return fingerprints(values, table.dropped)


@contextmanager
def _cached(frame: DataFrame) -> Iterator[DataFrame]:
    frame = frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield frame
    finally:
        frame.unpersist()
