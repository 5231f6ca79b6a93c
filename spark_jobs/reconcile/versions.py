"""Versions: everything that events say of a place, one row each, and which of them stands.

A *place* is a cell, a row's liveness, a row, a partition, a range, a collection, a leader's shard
of a counter or a whole table. Of all versions of a place the one with the largest `win` stands, so
versions may come in any order, in any batches and any number of times. Deletions are versions like
any other: they are never applied on arrival, since an older write may come later.

| column | meaning |
| --- | --- |
| `table` | id of the table |
| `bucket` | of the token; `TABLE_BUCKET`, and token 0, for what is said of a whole table |
| `token`, `pk` | of the partition |
| `scope` | `cell`, `live`, `shard`; deleted: `row`, `complex`, `partition`, `range`, `table` |
| `ck` | byte-comparable clustering, null in the static row and of partitions; start of a range |
| `hi` | end of a range, exclusive |
| `column`, `path` | of cells, collections and shards; equal elements have one `path` |
| `win` | `spark_jobs.expressions`; of deletions write time and local deletion time |
| `ckv` | raw clustering values |
"""

from collections.abc import Collection

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.expressions import (
    WIN,
    shards_of,
    win_of_cell,
    win_of_deletion,
    win_of_liveness,
)

# In the order of storage, so that one sort serves every step of a view, and what is compacted is
# written as it comes: by folder, by partition, by row, by column.
PARTITION = ("table", "bucket", "token", "pk")
PLACE = (*PARTITION, "ck", "column", "scope", "hi", "path")
COLUMNS = (*PLACE, "win", "ckv")
SCHEMA = (
    "table STRING, bucket INT, token BIGINT, pk BINARY, ck BINARY, scope STRING, hi BINARY,"
    f" column STRING, path BINARY, win {WIN}, ckv ARRAY<BINARY>"
)
TABLE_BUCKET = -1
FOR_GOOD_US = (1 << 63) - 1
"""Write time of what nothing that is written later undoes: the deletion of a single counter."""


def bucket_of(token: Column, buckets: int) -> Column:
    """Which of so many buckets a token belongs to."""
    return F.pmod(token, F.lit(buckets)).cast("int")


def versions_of(cells: DataFrame, buckets: int, counters: Collection[str] = ()) -> DataFrame:
    """What events say, as versions.

    `cells` is what `spark_jobs.events.read_cells` gives, `counters` the ids of counter tables.
    """
    with_buckets = cells.withColumn("bucket", bucket_of(F.col("token"), buckets))
    # What is written to one file is brought together while it is small.
    events = with_buckets.repartition("table", "bucket")
    written = F.concat(
        F.array("live", "del"),
        F.coalesce("cdel", F.array()),
        F.coalesce("cell", F.array()),
    )
    parts = events.select(
        *("table", "bucket", "token", "pk", "ck", "lo", "hi", "ckv", "kind"),
        F.coalesce(F.size("cdel"), F.lit(0)).alias("cdel_count"),
        F.posexplode(written).alias("at", "part"),
    ).where(F.col("part").isNotNull())
    at, part, kind = F.col("at"), F.col("part"), F.col("kind")
    scope = (
        F.when(at == 0, "live")
        .when(at == 1, kind)
        .when(at < 2 + F.col("cdel_count"), "complex")
        .otherwise("cell")
    )
    plain = parts.select("*", scope.alias("scope")).select(
        *("table", "bucket", "token", "pk", "scope"),
        F.when(F.col("scope") == "range", F.col("lo")).otherwise(F.col("ck")).alias("ck"),
        "hi",
        part["col"].alias("column"),
        F.unbase64(F.coalesce(part["key"], part["path"])).alias("path"),
        F.when(F.col("scope") == "cell", win_of_cell(part))
        .when(F.col("scope") == "live", win_of_liveness(part))
        .otherwise(win_of_deletion(part))
        .alias("win"),
        F.when(F.col("scope").isin("cell", "live"), F.col("ckv")).alias("ckv"),
    )
    return _with_shards(plain, counters) if counters else plain


def by_partition(versions: DataFrame) -> DataFrame:
    """With all versions of a partition in one task, spread over all tasks."""
    return versions.repartition("token", "table", "bucket")


def standing(versions: DataFrame) -> DataFrame:
    """One version of each place: the largest."""
    return versions.groupBy(*PLACE).agg(
        F.max("win").alias("win"),
        # Keys that compare equal may differ in bytes (1.0 and 1.00); any one may stand.
        F.min("ckv").alias("ckv"),
    )


def _with_shards(plain: DataFrame, counters: Collection[str]) -> DataFrame:
    """Contexts of counter tables taken apart; the tombstone of a counter covers its shards."""
    is_counter = F.col("table").isin(*counters) & (F.col("scope") == "cell")
    win = F.col("win")
    is_tombstone = win["value"].isNull()
    for_good = win.withField("ts", F.lit(FOR_GOOD_US))
    one = F.struct(
        F.when(is_counter, "complex").otherwise(F.col("scope")).alias("scope"),
        F.col("path"),
        F.when(is_counter, for_good).otherwise(win).alias("win"),
    )
    shards = F.transform(
        shards_of(win["value"], win["ts"]),
        lambda shard: F.struct(F.lit("shard").alias("scope"), shard["path"], shard["win"]),
    )
    taken_apart = plain.withColumn(
        "part", F.explode(F.when(is_counter & ~is_tombstone, shards).otherwise(F.array(one)))
    )
    return taken_apart.select(
        *("table", "bucket", "token", "pk"),
        F.col("part.scope").alias("scope"),
        *("ck", "hi", "column"),
        F.col("part.path").alias("path"),
        F.col("part.win").alias("win"),
        "ckv",
    )
