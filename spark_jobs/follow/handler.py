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
    """A batch that a target contains only in part. `before` is None for the first fill."""

    before: Position | None
    after: Position


class ChangeHandler(Protocol):
    """Applies the changes of source tables to a target, and stores the position with them.

    `Follower` calls it from one thread, for one table at a time.
    """

    each: bool
    """Whether `apply` receives one change per write time instead of one net change per row.

    A first fill and a comparison always yield one net change per row.
    """

    has_snapshot: bool
    """Whether the target stores the rows of the first fill, not only its position."""

    def interrupted(self, table: SourceTable) -> InterruptedBatch | None:
        """The batch that a crash interrupted; None if all batches are complete.

        Called before `position`, at the start of the follower and after a failure. Raises
        `ColumnNameError` if the target cannot store the table; other tables are followed.
        """

    def finish(self, table: SourceTable, changes: DataFrame, counts: Mapping[str, int]) -> None:
        """Apply the rest of the interrupted batch. `changes` contains the whole batch."""

    def position(self, table: SourceTable) -> Position | None:
        """The position up to which the target contains the table; None if the target is new.

        Called for each table at the start of the follower, and after a failure of the table.
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
        """Apply the changes from `before` to `after`, and store `after` durably in the target.

        `changes` has the columns of `spark_jobs.merge.Merger.changes_schema`. Each row has an `op`;
        rows that only have a new `next_expiry_s` are omitted. The rows are cached, so this method
        may read them several times, but not after it has returned. If there are no rows, the
        handler still stores `after`. `counts` is the number of rows by `op`: c, u and d.

        `before` is None for the first fill, in which every visible row is a `c` change. `before`
        may be later than the stored position if nothing happened in between. Without changes,
        `apply` is called about once a minute.

        `offsets` contains the Kafka offsets up to which the store has read at `after`, by topic
        and partition. It is empty if the commits that the follower has seen contain no offsets.

        After a crash, the follower repeats the call with the `before` that `position` returns, and
        with the same or a later `after`. The target must ignore changes that it already contains.
        """
