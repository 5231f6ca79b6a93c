"""Versions appended by bucket of the token, compacted when loose files are many.

One Delta table, partitioned by table, bucket and level. A micro-batch adds one loose file to each
bucket that it touches and reads nothing, so its cost does not depend on the table. Compaction turns
a bucket into its *base*, one version of each place in storage order. It is atomic, and may come
late, twice or never. Readers take the largest version of each place out of both.
"""

from collections import Counter
from collections.abc import Collection, Iterable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.reconcile.layout.protocol import Batch
from spark_jobs.reconcile.layout.stored import Bucket, create_table, escaped, files_by_bucket
from spark_jobs.reconcile.purging import without_past
from spark_jobs.reconcile.versions import COLUMNS, PLACE, SCHEMA, by_partition, standing

_BASE, _LOOSE = "base", "loose"


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
            f"{SCHEMA}, level STRING",
            layout="append",
            buckets=buckets,
            partitioned_by=("table", "bucket", "level"),
            properties={},
        )

    def append(self, versions: DataFrame, batch: Batch | None = None) -> None:
        writer = versions.withColumn("level", F.lit(_LOOSE)).write.format("delta").mode("append")
        if batch is not None:
            writer = writer.option("txnAppId", batch.app).option("txnVersion", batch.number)
        writer.save(self._path)

    def held(self, tables: Collection[str] | None = None) -> DataFrame:
        stored = self._stored().select(*COLUMNS)
        return stored if tables is None else stored.where(F.col("table").isin(*tables))

    def versions(self, tables: Collection[str] | None = None) -> DataFrame:
        return standing(by_partition(self.held(tables)))

    def compact(self) -> int:
        due = [
            bucket for bucket, files in self.loose_files().items() if files > self._max_loose_files
        ]
        if due:
            is_due = _condition(due)
            whole = self._stored().where(is_due).select(*COLUMNS)
            self._replace(standing(whole.repartition("table", "bucket")), is_due)
        return len(due)

    def purge(self, table: str, before_s: int) -> None:
        kept = without_past(self.held([table]), before_s)
        self._replace(kept, f"table = '{escaped(table)}'")

    def loose_files(self) -> Counter[Bucket]:
        """How many loose files there are in each bucket."""
        return files_by_bucket(self._stored().where(F.col("level") == _LOOSE))

    def _stored(self) -> DataFrame:
        return self._session.read.format("delta").load(self._path)

    def _replace(self, versions: DataFrame, condition: str) -> None:
        """Makes these the base of the buckets that meet the condition, in one commit."""
        in_order = versions.sortWithinPartitions(*PLACE).withColumn("level", F.lit(_BASE))
        writer = in_order.write.format("delta").mode("overwrite")
        writer.option("replaceWhere", condition).save(self._path)


def _condition(buckets: Iterable[Bucket]) -> str:
    of_tables: dict[str, list[str]] = {}
    for table, bucket in buckets:
        of_tables.setdefault(table, []).append(str(bucket))
    return " OR ".join(
        f"(table = '{escaped(table)}' AND bucket IN ({', '.join(numbers)}))"
        for table, numbers in of_tables.items()
    )
