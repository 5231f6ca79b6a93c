"""The interface of a target that follows source tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame

from spark_jobs.follow.plan import Position
from spark_jobs.reconcile.source_table import SourceTable
from spark_jobs.reconcile.store import Offsets


@dataclass(frozen=True, slots=True)
class InterruptedBatch:
    """A batch that a target has in part. `before` is None for the first fill."""

    before: Position | None
    after: Position


class ChangeHandler(Protocol):
    """Applies the changes of source tables to a target, and stores the position with them.

    `Follower` calls it from one thread, one table after the other.
    """

    each: bool
    """Whether `apply` receives one change for each write time instead of one net change a row.

    A first fill and a comparison always have one net change a row.
    """

    has_snapshot: bool
    """Whether the target has the rows of the first fill, and not only its position."""

    def interrupted(self, table: SourceTable) -> InterruptedBatch | None:
        """The batch that a crash interrupted; None if the target has whole batches.

        Called once for each table, at the start of the follower, before `position`. Raises
        `ColumnNameError` if the target cannot store the table; other tables are followed.
        """

    def finish(self, table: SourceTable, changes: DataFrame, counts: Mapping[str, int]) -> None:
        """Apply the rest of the interrupted batch. `changes` are those of the whole batch."""

    def position(self, table: SourceTable) -> Position | None:
        """The position up to which the target has the table; None if the target is new.

        Called once for each table, at the start of the follower.
        """

    def apply(
        self,
        table: SourceTable,
        changes: DataFrame,
        counts: Mapping[str, int],
        before: Position | None,
        after: Position,
        offsets: Offsets,
    ) -> None:
        """Apply the changes from `before` to `after`, and store `after` in the target, durably.

        `changes` has the columns of `spark_jobs.merge.Merger.changes_schema`. Each row has an `op`;
        rows that exist only for a new `next_expiry_s` are left out. The rows are cached, so they
        may be read several times while this method runs, and not afterwards. They may be empty;
        the handler stores `after` then too. `counts` are their numbers by `op`: c, u and d.

        `before` is None for the first fill: every visible row is a change `c` that did not exist.
        `before` may be later than the stored position if nothing happened in between. Without
        changes `apply` is called about once a minute.

        `offsets` has the Kafka offsets that the store has read up to `after`, by topic and
        partition. It is empty if the commits that the follower has seen name none.

        After a crash the follower calls again with the `before` that `position` returns then, and
        with the same or a later `after`. The target has to ignore changes that it already has.
        """
