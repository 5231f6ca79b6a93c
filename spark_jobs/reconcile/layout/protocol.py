"""The interface of layouts."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Batch:
    """The id of a micro-batch, so that a repeated batch is skipped.

    `app` is unique for each checkpoint.
    """

    app: str
    number: int


class Layout(Protocol):
    """Stored versions (`spark_jobs.reconcile.versions`).

    A read depends only on the set of written versions. It does not depend on their order, their
    batches, their repetitions or on compaction.
    """

    def write_events(self, events: DataFrame, batch: Batch | None = None) -> None:
        """Store the result of `spark_jobs.reconcile.versions.bucket_events` durably.

        A batch that the table already has is skipped.
        """

    def write_versions(self, versions: DataFrame, batch: Batch | None = None) -> None:
        """Store versions durably. A batch that the table already has is skipped."""

    def stored_versions(self, tables: Collection[str] | None = None) -> DataFrame:
        """Read the stored versions, one or several of each place.

        `tables` selects tables by id; None reads all tables.
        """

    def latest_versions(self, tables: Collection[str] | None = None) -> DataFrame:
        """Read one version of each place.

        `tables` selects tables by id; None reads all tables.
        """

    def compact(self) -> int:
        """Compact the buckets that are due and return their number.

        Compaction does not change the result of a read.
        """

    def purge(self, table: str, before_s: int) -> None:
        """Remove deletions and expired values from before this second, and all they cover.

        An older write that arrives afterwards becomes visible. So `before_s` must be at least
        `gc_grace_seconds` plus the largest lag of the topics ago.
        """
