"""Applies a batch to a typed table exactly once, also after a crash or a conflict."""

from spark_jobs.tables.commit_position import CommitPosition, Progress, progress
from spark_jobs.tables.conflicts import repeated
from spark_jobs.tables.format.protocol import TargetError, TypedTable, recent_commits
from spark_jobs.tables.net_changes import NetChanges


def progress_of(table: TypedTable) -> Progress:
    """How far a table is, from its own history."""
    return progress(commit.position for commit in recent_commits(table))


def apply_batch(
    table: TypedTable,
    changes: NetChanges,
    position: CommitPosition,
    before: CommitPosition | None,
) -> None:
    """Commit the changes from the position `before` to `position`.

    Does nothing if the table has the batch, and commits the rest if it has the first half. Repeats
    the batch after a conflict with maintenance of the table. Raises `TargetError` if the table is
    at another position, because another job writes to it, and `ConflictError`.
    """

    def attempt() -> None:
        known = progress_of(table)
        if position.is_of_batch(known.complete):
            return
        _require_position(table, known, position, before)
        if changes.is_empty and known.merged is None:
            table.record(position)
        else:
            table.commit(changes, position, is_merged=known.merged is not None)

    repeated(table, attempt)


def _require_position(
    table: TypedTable, known: Progress, position: CommitPosition, before: CommitPosition | None
) -> None:
    is_before = known.complete is None if before is None else before.is_of_batch(known.complete)
    if not is_before or not (known.merged is None or position.is_of_batch(known.merged)):
        raise TargetError(
            f"{table.sql_name} is at another position than this job: another job writes to it. "
            "Run one job for each target."
        )
