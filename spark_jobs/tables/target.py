"""Opens, creates and evolves the typed table of a source table, commits batches to it exactly once,
and runs its maintenance. Commits and maintenance are retried after conflicts."""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType

from sidecar.errors import ConfigError
from sidecar.logs import fields
from spark_jobs.errors import JobError
from spark_jobs.options.command_line import JobReport
from spark_jobs.session import require_iceberg
from spark_jobs.session_conf import job_description
from spark_jobs.tables.columns import Columns, column_changes
from spark_jobs.tables.commit_position import CommitPosition, Progress, progress
from spark_jobs.tables.format.delta import DeltaTypedTable
from spark_jobs.tables.format.iceberg import IcebergTypedTable
from spark_jobs.tables.format.typed_table import (
    NetChanges,
    TableDefinition,
    TargetError,
    TypedTable,
    read_recent_commits,
)
from spark_jobs.tables.options import TargetOptions, TypedTableOptions

logger = logging.getLogger(__name__)
ATTEMPTS = 10
"""More than the number of commits that both maintenance commands make."""
Result = TypeVar("Result")


def open_table(session: SparkSession, options: TargetOptions, full_name: str) -> TypedTable:
    """The typed table of a source table (`keyspace.table`). It need not exist."""
    name = options.target_name(full_name)
    if options.format == "delta":
        return DeltaTypedTable(session, name[0])
    require_iceberg(session)
    return IcebergTypedTable(session, name, options.iceberg_deletes)


def read_table(
    session: SparkSession, options: TargetOptions, full_name: str, version: int | None = None
) -> DataFrame:
    """The rows of the latest complete batch, or of a Delta version or Iceberg snapshot."""
    return open_table(session, options, full_name).read(version)


def open_existing_table(
    session: SparkSession, options: TargetOptions, full_name: str
) -> TypedTable:
    """The typed table of a source table. Raises `ConfigError` if it does not exist."""
    table = open_table(session, options, full_name)
    if not table.exists():
        raise ConfigError(
            f"{table.sql_name} does not exist. Correct `target` or `table`, or run "
            "`python -m spark_jobs.tables` first."
        )
    return table


def create_table(
    table: TypedTable,
    options: TargetOptions,
    full_name: str,
    app: str,
    table_id: str,
    columns: Columns,
) -> None:
    """Create a table with the layout of the options. `columns` are the source columns, keys first.

    Raises `ConfigError`.
    """
    properties = {}
    if options.format == "iceberg":
        properties["format-version"] = options.iceberg_format_version
    layout = options.partition_by.get(full_name, ""), options.cluster_by.get(full_name, "")
    try:
        table.create(TableDefinition(app, table_id, columns, *layout, properties))
    except (AnalysisException, ParseException) as error:
        first_line = str(error).strip().split("\n", 1)[0].rstrip(".")
        raise ConfigError(
            f"Cannot create {table.sql_name}: {first_line}. Correct `target`, "
            f"`partition.by.{full_name}` or `cluster.by.{full_name}`."
        ) from error
    logger.info("table created", extra=fields(table=table.sql_name))


def require_owner(table: TypedTable, app: str, table_id: str) -> None:
    """Raise `TargetError` if another store or another source table fills an existing table."""
    match table.owner():
        case None:
            what = "was not created by this job"
        case other_app, _ if other_app != app:
            what = "is filled from another store"
        case _, other_id if other_id != table_id:
            what = "is filled from an older table of the same name, which was dropped in Cassandra"
        case _:
            return
    raise TargetError(
        f"{table.sql_name} {what}. Drop or rename it, or set a different `target`, and start again."
    )


def evolve(
    table: TypedTable, wanted: Mapping[str, DataType], keys: int, replaced: frozenset[str]
) -> None:
    """Bring the columns of an existing table up to date. `wanted` are the source columns."""
    stored = {name: table.stored_type(kind) for name, kind in wanted.items()}
    changes = column_changes(table.columns(), stored, keys, replaced)
    if changes:
        table.evolve(changes)
        logger.info("columns changed", extra=fields(table=table.sql_name, changes=len(changes)))


class ConflictError(JobError):
    """Every attempt conflicted with another commit."""


def retry(table: TypedTable, act: Callable[[], Result]) -> Result:
    """Call `act`, and again after a conflict. Returns its result. Raises `ConflictError`."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return act()
        except Exception as error:
            if not table.is_conflict(error):
                raise
            last = error
            logger.info("commit repeated", extra=fields(table=table.sql_name, attempt=attempt))
    raise ConflictError(
        f"{table.sql_name}: {ATTEMPTS} attempts conflicted with other commits. Run maintenance "
        "while fewer rows change, or stop the job meanwhile."
    ) from last


def read_progress(table: TypedTable) -> Progress:
    return progress(commit.position for commit in read_recent_commits(table))


def apply_batch(
    table: TypedTable,
    changes: NetChanges,
    position: CommitPosition,
    before: CommitPosition | None,
) -> None:
    """Commit the changes from the position `before` to `position`.

    Does nothing if the table already contains the batch, and commits only the rest if it contains
    the first half. Retries after a conflict with maintenance of the table. Raises `TargetError` if
    another job writes to the table, which then is at a different position, and `ConflictError`.
    """

    def attempt() -> None:
        known = read_progress(table)
        if position.is_of_batch(known.complete):
            return
        complete, merged = known.complete, known.merged
        is_before = complete is None if before is None else before.is_of_batch(complete)
        if not is_before or not (merged is None or position.is_of_batch(merged)):
            raise TargetError(
                f"{table.sql_name} is not at the position of this job: another job writes to it. "
                "Run only one job for each target."
            )
        if changes.is_empty and merged is None:
            table.record(position)
        else:
            table.commit(changes, position, is_merged=merged is not None)

    retry(table, attempt)


def maintain(
    session: SparkSession,
    options: TypedTableOptions,
    done: str,
    act: Callable[[TypedTable], Mapping[str, int]],
) -> JobReport:
    """Call `act` for each table, and again after a conflict with the job. Raises `ConflictError`.

    The report contains the counts that `act` returns. Each line begins with `done`.
    """
    tables = {name: open_existing_table(session, options, name) for name in options.tables}
    counts: dict[str, dict[str, int]] = {}
    for name, table in tables.items():
        with job_description(session, f"tables: {name}, {done.lower()}"):
            counts[name] = dict(retry(table, partial(act, table)))
    lines = [
        f"{done} {name}: "
        + ", ".join(f"{count} {what.replace('_', ' ')}" for what, count in found.items())
        for name, found in counts.items()
    ]
    return JobReport("\n".join(lines), {"tables": counts})
