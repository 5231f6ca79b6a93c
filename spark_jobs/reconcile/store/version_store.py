"""The Delta table of a version store.

A micro-batch appends its events by bucket, as JSON text, and reads nothing. So its cost does not
depend on the size of the table. Compaction replaces rows of a bucket with merged states: a minor
one replaces the newer rows, a major one also the *base*. It is atomic, and may run late, twice or
never. A read merges all levels (`spark_jobs.merge.Merger`), so order and repetition do not matter.

| column | meaning |
| --- | --- |
| `table` | id of the source table |
| `bucket` | bucket of the token; `TABLE_BUCKET` for truncations of the whole table |
| `level` | `events`: uncompacted; `recent`, `base`: compacted; `history`: superseded states |
| `token` | token of the partition |
| `ck` | byte-comparable clustering; null for static rows, partitions and ranges |
| `event` | text with the member `cells` of an event, or with `truncated_us` |
| `state` | merged state of a row, or of the rest of a partition |
| `superseded_at_s` | second of the compaction that superseded a state in `history` |

Each row has an `event` or a `state`. The names of columns and levels are part of the stored format.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.utils import is_remote

from sidecar.errors import ConfigError
from spark_jobs.delta_table import append_batch, create_delta_table, table_properties
from spark_jobs.errors import JobError
from spark_jobs.reconcile.store.commits import (
    Commit,
    Kind,
    Offsets,
    largest_offsets,
    read_commit,
    user_metadata,
)
from spark_jobs.source.events import json_value
from spark_jobs.storage import Folder

Bucket = tuple[str, int]
"""Table id and number of a bucket."""
EVENTS, RECENT, BASE, HISTORY = "events", "recent", "base", "history"
TABLE_BUCKET = -1
PAYLOAD = ("token", "ck", "event", "state")
MERGED = ("token", "event", "state")
"""The columns that a merge reads."""
SCHEMA = (
    "table STRING, bucket INT, level STRING, token BIGINT, ck BINARY, event STRING, state BINARY,"
    " superseded_at_s BIGINT"
)
_FORMAT, _BUCKETS = "cdc.format", "cdc.buckets"
_THIS_FORMAT = "2"
_PROPERTIES = {
    # Statistics of other columns would not help to skip files.
    "delta.dataSkippingStatsColumns": "token",
    "delta.enableChangeDataFeed": "true",
}
_LOG = "_delta_log"
_RECENT_COMMITS = 20
"""The number of commits that `recent_offsets` reads."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The id of a micro-batch, so that a repeated batch is skipped.

    `app` is unique for each checkpoint. `offsets` are the Kafka offsets after the batch.
    """

    app: str
    number: int
    offsets: Offsets = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoreSize:
    """The size of a version of the store. Files of older versions do not count."""

    bytes: int
    files: int
    rows: int


class VersionStore:
    """The events and merged states of all source tables, at a path."""

    def __init__(
        self, session: SparkSession, path: str, *, buckets: int, max_uncompacted_files: int = 8
    ) -> None:
        """Open the store, or create it. Buckets with more uncompacted files than the limit are due.

        Raises `JobError` if the table has a different format or number of buckets.
        """
        self.session = session
        self.path = path
        self.buckets = buckets
        self.max_uncompacted_files = max_uncompacted_files
        # An upper bound of the uncompacted files in a bucket, except in buckets that were due.
        self._most_files = math.inf
        fixed = {_FORMAT: _THIS_FORMAT, _BUCKETS: str(buckets)}
        create_delta_table(session, path, SCHEMA, ("table", "bucket", "level"), _PROPERTIES | fixed)
        actual = table_properties(session, f"delta.`{path}`")
        if actual.get(_FORMAT) != _THIS_FORMAT:
            raise JobError(
                f"The table {path} has the format of an older release or of another program. Read "
                "the topics again with a new `output` and a new `checkpoint` "
                "(docs/how-to/spark-reconcile.md, section Upgrade)."
            )
        if actual.get(_BUCKETS) != str(buckets):
            raise JobError(
                f"The table {path} was created with `buckets={actual.get(_BUCKETS)}`, not "
                f"{buckets}. Use that value, or a new table."
            )

    @property
    def id(self) -> str:
        """The id of the Delta table. A new table at the same path has a different id."""
        return str(self._detail()["id"])

    def version(self) -> int:
        (row,) = self.session.sql(f"DESCRIBE HISTORY delta.`{self.path}` LIMIT 1").collect()
        return int(row["version"])

    def size(self) -> StoreSize:
        """The size of the latest version, only from Delta's log."""
        detail = self._detail()
        return StoreSize(detail["sizeInBytes"], detail["numFiles"], self._all().count())

    def _detail(self) -> Row:
        (detail,) = self.session.sql(f"DESCRIBE DETAIL delta.`{self.path}`").collect()
        return detail

    def commits_after(self, version: int) -> Iterator[Commit]:
        """The commits after a version, in order, up to the first missing log file."""
        if is_remote():
            yield from self._commits_by_spark(version)
            return
        log = Folder(self.session, f"{self.path}/{_LOG}")
        while log.exists(name := f"{version + 1:020}.json"):
            version += 1
            yield read_commit(version, log.read_text(name))

    def recent_offsets(self, version: int) -> Offsets:
        """The largest offsets in the latest commits of a version."""
        recent = self.commits_after(max(-1, version - _RECENT_COMMITS))
        return largest_offsets(commit.offsets for commit in recent)

    def _commits_by_spark(self, version: int) -> Iterator[Commit]:
        """`commits_after` for Spark Connect, which cannot access Hadoop's file systems."""
        for number in range(version + 1, self.version() + 1):
            file = f"{self.path}/{_LOG}/{number:020}.json"
            (row,) = self.session.read.text(file, wholetext=True).collect()
            yield read_commit(number, row["value"])

    def append(self, events: DataFrame, batch: Batch | None = None) -> None:
        """Store the result of `read_cells` durably, unless the store contains the batch."""
        bucket = bucket_of(F.col("token"), self.buckets)
        self._most_files += 1
        # One task per bucket, so one file per bucket.
        rows = events.withColumn("bucket", bucket).repartition("table", "bucket")
        self._append(rows.withColumn("level", F.lit(EVENTS)), "append", batch)

    def truncate(self, table_id: str, ts_us: int) -> None:
        """Delete all writes of a table up to a write time, including writes that arrive later."""
        row = (table_id, TABLE_BUCKET, EVENTS, 0, f'{{"truncated_us":{int(ts_us)}}}')
        columns = "table STRING, bucket INT, level STRING, token BIGINT, event STRING"
        self._append(self.session.createDataFrame([row], columns), "truncate", None)

    def truncated_us(self, table_id: str, version: int | None = None) -> int | None:
        """The write time up to which a table is truncated; None if it never was."""
        return max(self.truncations_us(table_id, version), default=None)

    def truncations_us(self, table_id: str, version: int | None = None) -> list[int]:
        """The write times of all truncations of a table."""
        of_table = self._truncations(version).where(F.col("table") == table_id)
        return [row["ts_us"] for row in of_table.collect()]

    def truncated_tables(self, version: int | None = None) -> dict[str, int]:
        """The write time up to which each truncated table is truncated, by table id."""
        latest = self._truncations(version).groupBy("table").agg(F.max("ts_us").alias("ts_us"))
        return {row["table"]: row["ts_us"] for row in latest.collect()}

    def rows(self, table_id: str, version: int | None = None) -> DataFrame:
        """The stored events and states of a table, without superseded states."""
        return self.levels(table_id, version).where(F.col("level") != HISTORY)

    def levels(self, table_id: str, version: int | None = None) -> DataFrame:
        """All stored rows of a table except truncations."""
        of_table = F.col("table") == table_id
        return self._all(version).where(of_table & (F.col("bucket") != TABLE_BUCKET))

    def added(self, table_id: str, after: int, until: int) -> DataFrame:
        """The events that the commits after version `after`, up to `until`, added to a table, from
        the change feed. Compaction adds no events."""
        if until <= after:
            return self._all().where(F.lit(False)).select(*PAYLOAD)
        feed = (
            self.session.read.format("delta")
            .option("readChangeFeed", "true")
            .option("startingVersion", after + 1)
            .option("endingVersion", until)
            .load(self.path)
        )
        of_table = (F.col("table") == table_id) & (F.col("bucket") != TABLE_BUCKET)
        return feed.where(of_table & (F.col("level") == EVENTS)).select(*PAYLOAD)

    def replace(
        self, rows: DataFrame, kind: Kind, buckets: Iterable[Bucket], levels: Collection[str]
    ) -> None:
        """Replace levels of buckets with equivalent rows. The change feed omits the commit."""
        condition = _condition(buckets, levels)
        writer = rows.write.format("delta").mode("overwrite")
        writer = writer.option("replaceWhere", condition).option("dataChange", "false")
        writer.option("userMetadata", user_metadata(kind)).save(self.path)

    def stored(self, buckets: Iterable[Bucket], levels: Collection[str]) -> DataFrame:
        return self._all().where(_condition(buckets, levels))

    def row_counts(self, buckets: Collection[Bucket]) -> dict[Bucket, Counter[str]]:
        """The number of stored rows of buckets by level, from the footers of their files."""
        stored = self.stored(buckets, (EVENTS, RECENT, BASE)).groupBy("table", "bucket", "level")
        counts: dict[Bucket, Counter[str]] = {bucket: Counter() for bucket in buckets}
        for table, bucket, level, rows in stored.count().collect():
            counts[table, bucket][level] = rows
        return counts

    def due_buckets(self) -> list[Bucket]:
        """The buckets with more uncompacted files than the limit.

        An append adds at most one file to a bucket. So Spark counts the files only if a bucket may
        have too many.
        """
        if self._most_files <= self.max_uncompacted_files:
            return []
        files = self.uncompacted_files()
        due = [bucket for bucket, count in files.items() if count > self.max_uncompacted_files]
        self._most_files = max((files[bucket] for bucket in files.keys() - due), default=0)
        return due

    def uncompacted_files(self) -> Counter[Bucket]:
        is_uncompacted = (F.col("level") == EVENTS) & (F.col("bucket") != TABLE_BUCKET)
        places = map(_bucket, self._all().where(is_uncompacted).inputFiles())
        return Counter(place for place in places if place is not None)

    def _truncations(self, version: int | None) -> DataFrame:
        markers = self._all(version).where(F.col("bucket") == TABLE_BUCKET)
        ts_us = json_value(F.col("event"), "truncated_us: bigint")["truncated_us"]
        return markers.select("table", ts_us.alias("ts_us"))

    def _all(self, version: int | None = None) -> DataFrame:
        reader = self.session.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return reader.load(self.path)

    def _append(self, rows: DataFrame, kind: Kind, batch: Batch | None) -> None:
        if batch is None:
            writer = rows.write.format("delta").mode("append")
            writer.option("userMetadata", user_metadata(kind)).save(self.path)
        else:
            metadata = user_metadata(kind, batch.offsets)
            append_batch(rows, self.path, batch.app, batch.number, userMetadata=metadata)


def open_existing_store(session: SparkSession, path: str, buckets: int) -> VersionStore:
    """Open the store that `spark_jobs.reconcile` fills. Raises `ConfigError` if there is none."""
    if not Folder(session, path).exists(_LOG):
        raise ConfigError(
            f"output: {path} is not a Delta table. Use the `output` of spark_jobs.reconcile."
        )
    return VersionStore(session, path, buckets=buckets)


def bucket_of(token: Column, buckets: int) -> Column:
    return F.pmod(token, F.lit(buckets)).cast("int")


def _bucket(file: str) -> Bucket | None:
    """The bucket of a data file, from its partition folders."""
    found = dict(part.split("=", 1) for part in file.split("/") if "=" in part)
    if not {"table", "bucket"} <= found.keys():
        return None
    return unquote(found["table"]), int(found["bucket"])


def _condition(buckets: Iterable[Bucket], levels: Collection[str]) -> str:
    """An SQL condition that selects these levels of buckets."""
    of_tables: dict[str, list[str]] = {}
    for table, bucket in buckets:
        of_tables.setdefault(table, []).append(str(bucket))
    is_in_buckets = " OR ".join(
        f"(`table` = '{table}' AND bucket IN ({', '.join(numbers)}))"
        for table, numbers in of_tables.items()
    )
    names = ", ".join(f"'{level}'" for level in levels)
    return f"({is_in_buckets}) AND level IN ({names})"
