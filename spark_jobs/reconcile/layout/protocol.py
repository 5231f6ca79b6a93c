"""What the jobs want of a layout."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Batch:
    """A micro-batch, so that writing it again is known. `app` is new with each checkpoint."""

    app: str
    number: int


class Layout(Protocol):
    """Versions (`spark_jobs.reconcile.versions`) in storage.

    What it gives depends on which versions were appended and on nothing else: not on their order,
    their batches, their copies, nor on when it was compacted.
    """

    def take(self, events: DataFrame, batch: Batch | None = None) -> None:
        """Take in what `spark_jobs.reconcile.versions.events_of` gives, durably. A batch that is
        already in is passed over."""

    def append(self, versions: DataFrame, batch: Batch | None = None) -> None:
        """The same of versions."""

    def held(self, tables: Collection[str] | None = None) -> DataFrame:
        """The versions of all tables, or of these, by id: of each place one or several."""

    def versions(self, tables: Collection[str] | None = None) -> DataFrame:
        """One version of each place, of all tables or of these, by id."""

    def compact(self) -> int:
        """Tidy up what is due; says how many buckets were. Changes nothing that can be read."""

    def purge(self, table: str, before_s: int) -> None:
        """Forget what was deleted or expired in a table before this second, and what it covers.

        Whatever is older and comes later is there again, so `before_s` is `gc_grace_seconds` and
        the greatest lag of the topics ago, or earlier.
        """
