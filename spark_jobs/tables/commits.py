"""Commits batches to typed tables exactly once, and runs maintenance. Retries after conflicts."""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from pyspark.sql import SparkSession

from sidecar.logs import fields
from spark_jobs.errors import JobError
from spark_jobs.options.command_line import JobReport
from spark_jobs.session_conf import job_description
from spark_jobs.tables.commit_position import CommitPosition, Progress, progress
from spark_jobs.tables.format.typed_table import (
    NetChanges,
    TargetError,
    TypedTable,
    read_recent_commits,
)
from spark_jobs.tables.options import TypedTableOptions
from spark_jobs.tables.target import open_existing_table

logger = logging.getLogger(__name__)
ATTEMPTS = 10
"""More than the number of commits that both maintenance commands make."""
Result = TypeVar("Result")


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
