"""Compacts and purges a version store: rewrites levels of buckets as merged states.

If the newer rows are less than an eighth of the base, a minor compaction merges only them.
Otherwise, a major compaction rewrites the whole bucket. So a new row costs at most eight rewritten
rows of the base.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import partial, reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from spark_jobs.merge import COMPACT_SCHEMA
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.store.commits import Kind
from spark_jobs.reconcile.store.version_store import (
    BASE,
    EVENTS,
    HISTORY,
    PAYLOAD,
    RECENT,
    Bucket,
    bucket_of,
)
from spark_jobs.reconcile.visible_rows import merger_of

MAJOR_SHARE = 1 / 8


def compact(
    store: VersionStore,
    schema: SourceSchema,
    now_s: int,
    history_s: int = 0,
    *,
    major_share: float = MAJOR_SHARE,
) -> int:
    """Compact the buckets that are due, and return their number. Results of reads do not change.

    A compaction is major if the number of newer rows is at least `major_share` of the base's rows.
    A larger share rewrites the base less often, but then each minor compaction rewrites more rows.
    Superseded states remain in the level `history` for `history_s` seconds. Tables that are not in
    the schema stay unchanged.
    """
    described = {table.id for table in schema.tables}
    due = [bucket for bucket in store.due_buckets() if bucket[0] in described]
    by_level: dict[str, list[Bucket]] = defaultdict(list)
    if due:
        for bucket, rows in store.row_counts(due).items():
            by_level[level_after(rows, major_share)].append(bucket)
    for level, buckets in by_level.items():
        _rewrite(store, schema, "compact", buckets, level, now_s, history_s)
    return len(due)


def level_after(rows: Mapping[str, int], major_share: float = MAJOR_SHARE) -> str:
    """The level that compaction of a bucket writes: `recent` (minor) or `base` (major).

    `rows` is the number of its stored rows by level.
    """
    newer = rows.get(EVENTS, 0) + rows.get(RECENT, 0)
    return RECENT if newer < rows.get(BASE, 0) * major_share else BASE


def purge(store: VersionStore, schema: SourceSchema, table: SourceTable, before_s: int) -> None:
    """Remove deletions and expired values from before this second, and all writes they cover.

    A covered write that arrives afterwards becomes visible. So `before_s` must be at least
    `gc_grace_seconds` plus the maximum lag of the topics ago.
    """
    found = store.levels(table.id).select("table", "bucket").distinct().collect()
    if found:
        buckets = [(row["table"], row["bucket"]) for row in found]
        _rewrite(store, schema, "purge", buckets, BASE, before_s, 0, purge_before_s=before_s)


def _rewrite(
    store: VersionStore,
    schema: SourceSchema,
    kind: Kind,
    buckets: Collection[Bucket],
    level: str,
    now_s: int,
    history_s: int,
    purge_before_s: int | None = None,
) -> None:
    """Merge the levels of buckets up to `level` into states in `level`, in one commit."""
    merged = (EVENTS, RECENT) if level == RECENT else (EVENTS, RECENT, BASE)
    truncated_us = store.truncated_tables()
    parts = []
    for table in schema.tables:
        of_table = [bucket for bucket in buckets if bucket[0] == table.id]
        if not of_table:
            continue
        merge = partial(
            merger_of(schema, table).compact,
            purge_before_s=purge_before_s,
            truncated_us=truncated_us.get(table.id),
            keep_superseded=history_s > 0,
        )
        # One task per bucket, so one file per bucket.
        by_bucket = store.stored(of_table, merged).repartition("bucket")
        in_order = by_bucket.sortWithinPartitions("bucket", "token").select(*PAYLOAD)
        states = in_order.mapInArrow(merge, from_arrow_schema(COMPACT_SCHEMA))
        parts.append(_rows(states, store, table, level, now_s))
    if history_s > 0:
        kept = F.col("superseded_at_s") >= now_s - history_s
        parts.append(store.stored(buckets, [HISTORY]).where(kept).repartition("table", "bucket"))
    # The writer sorts by folder. Sorting by token too keeps the order that lets reads skip data.
    rows = reduce(DataFrame.unionByName, parts)
    rows = rows.sortWithinPartitions("table", "bucket", "level", "token", "ck")
    store.replace(rows, kind, buckets, (*merged, HISTORY))


def _rows(
    states: DataFrame, store: VersionStore, table: SourceTable, level: str, now_s: int
) -> DataFrame:
    is_superseded = F.col("is_superseded")
    return states.select(
        F.lit(table.id).alias("table"),
        bucket_of(F.col("token"), store.buckets).alias("bucket"),
        F.when(is_superseded, HISTORY).otherwise(level).alias("level"),
        "token",
        "ck",
        F.lit(None).cast("string").alias("event"),
        "state",
        F.when(is_superseded, F.lit(now_s)).cast("bigint").alias("superseded_at_s"),
    )
