"""Compaction and purge of a version store: levels of buckets are rewritten as merged states.

A minor compaction merges only what is newer than the base: at most an eighth of its rows. A major
compaction rewrites the whole bucket. It runs when more is new, so a new row costs at most eight
rewritten rows of the base.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from commitlog.merge import COMPACT_SCHEMA
from sidecar.logs import fields
from spark_jobs.reconcile.merged import merger_of
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.store.commits import Kind
from spark_jobs.reconcile.store.version_store import (
    BASE,
    EVENTS,
    HISTORY,
    PAYLOAD,
    RECENT,
    bucket_of,
)

logger = logging.getLogger(__name__)
MAJOR_SHARE = 1 / 8


def compact(
    store: VersionStore,
    schema: SourceSchema,
    now_s: int,
    history_s: int = 0,
    *,
    major_share: float = MAJOR_SHARE,
) -> int:
    """Compact the buckets that are due and return their number. No read changes its result.

    A compaction is major if the newer rows have at least `major_share` of the base's rows. A larger
    share rewrites the base less often, but then each minor compaction rewrites more rows.
    Superseded states remain in the level `history` for `history_s` seconds. Tables that the schema
    lacks stay as they are.
    """
    due: dict[str, list[int]] = {}
    for (table_id, bucket), files in store.uncompacted_files().items():
        if files > store.max_uncompacted_files:
            due.setdefault(table_id, []).append(bucket)
    described = {table.id: table for table in schema.tables}
    compacted = 0
    for table_id, buckets in due.items():
        if table_id not in described:
            logger.debug("table not compacted", extra=fields(table=table_id))
            continue
        by_level: dict[str, list[int]] = defaultdict(list)
        for bucket, rows in store.row_counts(table_id, buckets).items():
            by_level[level_after(rows, major_share)].append(bucket)
        for level, of_level in by_level.items():
            table = described[table_id]
            _rewrite(store, schema, table, "compact", of_level, level, now_s, history_s)
        compacted += len(buckets)
    return compacted


def level_after(rows: Mapping[str, int], major_share: float = MAJOR_SHARE) -> str:
    """The level that compaction of a bucket writes: `recent` (minor) or `base` (major).

    `rows` are the numbers of its stored rows by level.
    """
    newer = rows.get(EVENTS, 0) + rows.get(RECENT, 0)
    return RECENT if newer < rows.get(BASE, 0) * major_share else BASE


def purge(store: VersionStore, schema: SourceSchema, table: SourceTable, before_s: int) -> None:
    """Remove deletions and expired values from before this second, and all they cover.

    An older write that arrives afterwards becomes visible. So `before_s` must be at least
    `gc_grace_seconds` plus the largest lag of the topics ago.
    """
    found = store.levels(table.id).select("bucket").distinct().collect()
    buckets = [row["bucket"] for row in found]
    if buckets:
        _rewrite(store, schema, table, "purge", buckets, BASE, before_s, 0, purge_before_s=before_s)


def _rewrite(
    store: VersionStore,
    schema: SourceSchema,
    table: SourceTable,
    kind: Kind,
    buckets: Collection[int],
    level: str,
    now_s: int,
    history_s: int,
    purge_before_s: int | None = None,
) -> None:
    """Merge the levels of buckets up to `level`, which gets the states."""
    merged = (EVENTS, RECENT) if level == RECENT else (EVENTS, RECENT, BASE)
    is_in_buckets = F.col("bucket").isin(*buckets)
    merge = partial(
        merger_of(schema, table).compact,
        purge_before_s=purge_before_s,
        truncated_us=store.truncated_us(table.id),
        keep_superseded=history_s > 0,
    )
    # One task for each bucket, so one file.
    stored = store.levels(table.id).where(is_in_buckets & F.col("level").isin(*merged))
    by_bucket = stored.repartition("bucket")
    in_order = by_bucket.sortWithinPartitions("bucket", "token").select(*PAYLOAD)
    states = in_order.mapInArrow(merge, from_arrow_schema(COMPACT_SCHEMA))
    rows = _rows(states, store, table, level, now_s)
    if history_s > 0:
        old = store.levels(table.id).where(is_in_buckets & (F.col("level") == HISTORY))
        kept = old.where(F.col("superseded_at_s") >= now_s - history_s)
        rows = rows.unionByName(kept.repartition("bucket"))
    # The writer sorts by folder; with the tokens it keeps the order that reads can skip by.
    rows = rows.sortWithinPartitions("table", "bucket", "level", "token", "ck")
    replaced = [(table.id, bucket) for bucket in buckets]
    store.replace(rows, kind, replaced, (*merged, HISTORY))


def _rows(
    states: DataFrame, store: VersionStore, table: SourceTable, level: str, now_s: int
) -> DataFrame:
    """The states as stored rows."""
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
