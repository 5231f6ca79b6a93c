"""The layout `append`: events are appended by bucket, and become versions during compaction.

One Delta table, partitioned by table, bucket and level. A micro-batch adds one uncompacted file to
each bucket that it touches and reads nothing, so its cost does not depend on the table. Such a file
has one row for each event with its members unchanged, so keys are stored once and nothing is
decoded. Compaction rewrites a bucket as its *base*: one version of each place, in storage order. It
is atomic, and may run late, twice or never. A read explodes the events and takes the latest version
of each place from all files.

| level | rows |
| --- | --- |
| `base` | one version of each place |
| `loose` | uncompacted versions |
| `events` | uncompacted events, not of counter tables |
| `counters` | uncompacted events of counter tables |

The names of levels are part of the stored format and must not change.
"""

from collections import Counter
from collections.abc import Collection, Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.reconcile.layout.delta_table import Bucket, VersionsTable, escaped, files_by_bucket
from spark_jobs.reconcile.layout.protocol import Batch
from spark_jobs.reconcile.purgeable import drop_purgeable
from spark_jobs.reconcile.versions import (
    COLUMNS,
    EVENT_SCHEMA,
    PLACE,
    SCHEMA,
    by_partition,
    explode_events,
    explode_events_with_shards,
    latest,
)

_BASE, _VERSIONS, _EVENTS, _COUNTERS = "base", "loose", "events", "counters"


class AppendLayout(VersionsTable):
    """The layout `append` at a path."""

    NAME = "append"
    SCHEMA = f"{SCHEMA}, event STRUCT<{EVENT_SCHEMA}>, level STRING"
    PARTITIONED_BY = ("table", "bucket", "level")

    def write_events(self, events: DataFrame, batch: Batch | None = None) -> None:
        level = F.when(F.col("is_counter"), _COUNTERS).otherwise(_EVENTS)
        # One task for each bucket, so one file.
        by_bucket = events.repartition("table", "bucket")
        self._add(by_bucket.withColumn("level", level).drop("is_counter"), batch)

    def write_versions(self, versions: DataFrame, batch: Batch | None = None) -> None:
        self._add(versions.withColumn("level", F.lit(_VERSIONS)), batch)

    def stored_versions(self, tables: Collection[str] | None = None) -> DataFrame:
        return _versions(self.stored(tables))

    def latest_versions(self, tables: Collection[str] | None = None) -> DataFrame:
        return latest(by_partition(self.stored_versions(tables)))

    def compact(self) -> int:
        due = [
            bucket
            for bucket, files in self.uncompacted_files().items()
            if files > self.max_uncompacted_files
        ]
        if due:
            is_due = _condition(due)
            whole = _versions(self.stored().where(is_due))
            self.replace(_base(latest(whole.repartition("table", "bucket"))), is_due)
        return len(due)

    def purge(self, table: str, before_s: int) -> None:
        kept = drop_purgeable(self.stored_versions([table]), before_s)
        self.replace(_base(kept), f"table = '{escaped(table)}'")

    def uncompacted_files(self) -> Counter[Bucket]:
        """The number of uncompacted files in each bucket."""
        return files_by_bucket(self.stored().where(F.col("level") != _BASE))

    def _add(self, rows: DataFrame, batch: Batch | None) -> None:
        writer = rows.write.format("delta").mode("append")
        if batch is not None:
            writer = writer.option("txnAppId", batch.app).option("txnVersion", batch.number)
        writer.save(self.path)


def _base(versions: DataFrame) -> DataFrame:
    """The rows of a base, in the order of storage."""
    return versions.sortWithinPartitions(*PLACE).withColumn("level", F.lit(_BASE))


def _versions(stored: DataFrame) -> DataFrame:
    """The versions in rows of any level."""
    level = F.col("level")
    events = stored.where(level == _EVENTS).withColumn("is_counter", F.lit(False))
    counters = stored.where(level == _COUNTERS).withColumn("is_counter", F.lit(True))
    plain = stored.where(level.isin(_BASE, _VERSIONS)).select(*COLUMNS)
    return plain.unionByName(explode_events(events)).unionByName(
        explode_events_with_shards(counters)
    )


def _condition(buckets: Iterable[Bucket]) -> str:
    """A condition in SQL for these buckets."""
    of_tables: dict[str, list[str]] = {}
    for table, bucket in buckets:
        of_tables.setdefault(table, []).append(str(bucket))
    return " OR ".join(
        f"(table = '{escaped(table)}' AND bucket IN ({', '.join(numbers)}))"
        for table, numbers in of_tables.items()
    )
