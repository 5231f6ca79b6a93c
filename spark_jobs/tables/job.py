"""Keeps typed tables up to date, and fills the version store if a source is configured.

The history of each table is the only record of its position. After a column change, the follower
compares all rows, which also fills new columns.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from sidecar.logs import fields
from spark_jobs.column_names import require_names
from spark_jobs.follow import InterruptedBatch, Position
from spark_jobs.follow.job import run_follower
from spark_jobs.options.command_line import JobReport
from spark_jobs.progress import Show, no_line, start_job
from spark_jobs.reconcile.selected_tables import read_tables
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.store import Offsets, VersionStore
from spark_jobs.reconcile.store.commits import offsets_to_json
from spark_jobs.reconcile.visible_rows import merger_of, typed_row
from spark_jobs.session_conf import job_description
from spark_jobs.tables.columns import Columns, nullable
from spark_jobs.tables.commit_position import CommitPosition, Part, fingerprints, replaced_columns
from spark_jobs.tables.format.typed_table import TargetError, TypedTable, net_changes
from spark_jobs.tables.options import TablesJobOptions, TargetOptions
from spark_jobs.tables.target import (
    apply_batch,
    create_table,
    evolve,
    open_table,
    read_progress,
    require_owner,
)

_LEFT_OUT = "Leave the table out of `tables`."
logger = logging.getLogger(__name__)


class TypedTables:
    """A `spark_jobs.follow.ChangeHandler` with one typed table per source table.

    `app` identifies the store. `typed_columns` returns the typed columns of a source table, keys
    first, without `cdc_row_id`.
    """

    each = False
    has_snapshot = True

    def __init__(
        self,
        session: SparkSession,
        options: TargetOptions,
        app: str,
        typed_columns: Callable[[SourceTable], StructType],
    ) -> None:
        self._session = session
        self._options = options
        self._app = app
        self._typed_columns = typed_columns
        self._targets: dict[str, TypedTable] = {}
        self._known: dict[str, CommitPosition | None] = {}

    def interrupted(self, table: SourceTable) -> InterruptedBatch | None:
        """The batch whose updates are committed, but not its new rows.

        Raises `TargetError`, or `ColumnNameError` before the first write.
        """
        target, _ = self._open(table)
        if not target.exists():
            return None
        require_owner(target, self._app, table.id)
        progress = read_progress(target)
        if progress.merged is None:
            return None
        complete = progress.complete
        before = None if complete is None else complete.followed
        return InterruptedBatch(before, progress.merged.followed)

    def finish(self, table: SourceTable, changes: DataFrame, counts: Mapping[str, int]) -> None:
        """Insert the new rows of the interrupted batch."""
        # The columns have not changed since the batch began.
        target, _ = self._open(table)
        progress = read_progress(target)
        assert progress.merged is not None
        batch = net_changes(changes, target.columns(), counts)
        position = replace(progress.merged, part=Part.WHOLE)
        with self._describe(table, f"finish the interrupted batch: {batch}"):
            apply_batch(target, batch, position, progress.complete)

    def position(self, table: SourceTable) -> Position | None:
        """Create the table or change its columns, and return the position in its history.

        Raises `ConfigError`, `TargetError` or `ColumnChangeError`.
        """
        target, columns = self._open(table)
        if not target.exists():
            name = table.full_name
            create_table(target, self._options, name, self._app, table.id, columns)
            return None
        require_owner(target, self._app, table.id)
        complete = read_progress(target).complete
        if complete is None and not target.read().isEmpty():
            raise TargetError(
                f"{target.sql_name} has rows, but its history no longer contains a position. Drop "
                "or rename it, or set a different `target`, and start again."
            )
        now = self._fingerprints(table, columns)
        known = {} if complete is None else complete.columns
        evolve(target, columns, len(table.key), replaced_columns(known, now))
        self._known[table.id] = complete
        return None if complete is None else complete.followed

    def apply(
        self,
        table: SourceTable,
        changes: DataFrame,
        counts: Mapping[str, int],
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
            offsets_to_json(offsets),
        )
        batch = net_changes(changes, target.columns(), counts)
        with self._describe(table, str(batch)):
            apply_batch(target, batch, position, self._known.get(table.id))
        self._known[table.id] = position

    def _describe(self, table: SourceTable, what: str) -> AbstractContextManager[None]:
        return job_description(self._session, f"tables: {table.full_name}, {what}")

    def _open(self, table: SourceTable) -> tuple[TypedTable, Columns]:
        row = self._typed_columns(table)
        require_names(table.full_name, row, self._options.format, _LEFT_OUT)
        columns = nullable(row)
        if table.id not in self._targets:
            self._targets[table.id] = open_table(self._session, self._options, table.full_name)
        return self._targets[table.id], columns

    def _fingerprints(self, table: SourceTable, columns: Columns) -> dict[str, str]:
        """The fingerprints of all columns except the key, which cannot be dropped."""
        values = {name: kind for name, kind in columns.items() if name in table.columns}
        return fingerprints(values, table.dropped)


def main(options: TablesJobOptions) -> JobReport:
    # Before Spark starts, so that an invalid schema fails at once.
    read_tables(options)
    with start_job(options.job, options) as job:
        batches = run(job.session, options, stop=job.stop, show=job.show)
        return JobReport(f"{batches} batches applied", {"batches": batches})


def run(
    session: SparkSession,
    options: TablesJobOptions,
    *,
    stop: threading.Event,
    show: Show = no_line,
    clock: Callable[[], float] = time.time,
) -> int:
    """Run until the trigger ends or `stop` is set. Returns the number of applied batches.

    `clock` determines which values have expired. Raises `ConfigError`, `TargetError`,
    `ColumnChangeError` or `InputError`.
    """

    def open_target(
        store: VersionStore, schema: SourceSchema, _: Sequence[SourceTable]
    ) -> TypedTables:
        logger.info("tables started", extra=fields(output=options.output, target=options.target))
        return TypedTables(
            store.session, options, store.id, lambda table: typed_row(merger_of(schema, table))
        )

    return run_follower(session, options, open_target, stop=stop, show=show, clock=clock)
