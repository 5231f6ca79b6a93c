"""Events appended by bucket of the token, turned into versions when loose files are many.

One Delta table, partitioned by table, bucket and level. A micro-batch adds one loose file to each
bucket that it touches and reads nothing, so its cost does not depend on the table. A loose file has
a row for each event, its parts beside each other as they came, so that keys are written once and
nothing is decoded. Compaction turns a bucket into its *base*, one version of each place in storage
order. It is atomic, and may come late, twice or never. Readers take events apart, and the largest
version of each place out of all files.

| level | rows |
| --- | --- |
| `base` | versions, one of each place |
| `loose` | versions as they were given |
| `events` | events, none of a counter table |
| `counters` | events of counter tables |
"""

from collections import Counter
from collections.abc import Collection, Iterable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.reconcile.layout.protocol import Batch
from spark_jobs.reconcile.layout.stored import Bucket, create_table, escaped, files_by_bucket
from spark_jobs.reconcile.purging import without_past
from spark_jobs.reconcile.versions import (
    COLUMNS,
    EVENT_SCHEMA,
    PLACE,
    SCHEMA,
    by_partition,
    standing,
    versions_in,
    versions_with_shards,
)

_BASE, _LOOSE, _EVENTS, _COUNTERS = "base", "loose", "events", "counters"


class AppendLayout:
    """The versions of all tables, in one Delta table at a path."""

    def __init__(
        self, session: SparkSession, path: str, *, buckets: int, max_loose_files: int = 8
    ) -> None:
        """Opens the table, or makes it. Raises `JobError` for another count of buckets than it
        was made with, and for one of another layout."""
        self._session = session
        self._path = path
        self._max_loose_files = max_loose_files
        create_table(
            session,
            path,
            f"{SCHEMA}, event STRUCT<{EVENT_SCHEMA}>, level STRING",
            layout="append",
            buckets=buckets,
            partitioned_by=("table", "bucket", "level"),
            properties={},
        )

    def take(self, events: DataFrame, batch: Batch | None = None) -> None:
        level = F.when(F.col("is_counter"), _COUNTERS).otherwise(_EVENTS)
        # What is written to one file is brought together.
        together = events.repartition("table", "bucket")
        self._add(together.withColumn("level", level).drop("is_counter"), batch)

    def append(self, versions: DataFrame, batch: Batch | None = None) -> None:
        self._add(versions.withColumn("level", F.lit(_LOOSE)), batch)

    def held(self, tables: Collection[str] | None = None) -> DataFrame:
        stored = self._stored()
        of_tables = stored if tables is None else stored.where(F.col("table").isin(*tables))
        return _versions(of_tables)

    def versions(self, tables: Collection[str] | None = None) -> DataFrame:
        return standing(by_partition(self.held(tables)))

    def compact(self) -> int:
        due = [
            bucket for bucket, files in self.loose_files().items() if files > self._max_loose_files
        ]
        if due:
            is_due = _condition(due)
            whole = _versions(self._stored().where(is_due))
            self._replace(standing(whole.repartition("table", "bucket")), is_due)
        return len(due)

    def purge(self, table: str, before_s: int) -> None:
        kept = without_past(self.held([table]), before_s)
        self._replace(kept, f"table = '{escaped(table)}'")

    def loose_files(self) -> Counter[Bucket]:
        """How many loose files there are in each bucket."""
        return files_by_bucket(self._stored().where(F.col("level") != _BASE))

    def _add(self, rows: DataFrame, batch: Batch | None) -> None:
        writer = rows.write.format("delta").mode("append")
        if batch is not None:
            writer = writer.option("txnAppId", batch.app).option("txnVersion", batch.number)
        writer.save(self._path)

    def _stored(self) -> DataFrame:
        return self._session.read.format("delta").load(self._path)

    def _replace(self, versions: DataFrame, condition: str) -> None:
        """Makes these the base of the buckets that meet the condition, in one commit."""
        in_order = versions.sortWithinPartitions(*PLACE).withColumn("level", F.lit(_BASE))
        writer = in_order.write.format("delta").mode("overwrite")
        writer.option("replaceWhere", condition).save(self._path)


def _versions(stored: DataFrame) -> DataFrame:
    """What rows of every level say."""
    level = F.col("level")
    events = stored.where(level == _EVENTS).withColumn("is_counter", F.lit(False))
    counters = stored.where(level == _COUNTERS).withColumn("is_counter", F.lit(True))
    plain = stored.where(level.isin(_BASE, _LOOSE)).select(*COLUMNS)
    return plain.unionByName(versions_in(events)).unionByName(versions_with_shards(counters))


def _condition(buckets: Iterable[Bucket]) -> str:
    of_tables: dict[str, list[str]] = {}
    for table, bucket in buckets:
        of_tables.setdefault(table, []).append(str(bucket))
    return " OR ".join(
        f"(table = '{escaped(table)}' AND bucket IN ({', '.join(numbers)}))"
        for table, numbers in of_tables.items()
    )
