"""Versions: every write and deletion of a place, one row each, and the latest version of a place.

A *place* is a cell, a row's liveness, a row, a partition, a range, a collection, a leader's shard
of a counter, or a whole table. The version of a place with the largest `win` is the latest. So
versions may arrive in any order, in any batches and any number of times. Deletions are versions
too. They are applied only when rows are read, because an older write may arrive later.

| column | meaning |
| --- | --- |
| `table` | id of the table |
| `bucket` | bucket of the token; `TABLE_BUCKET` for versions of a whole table |
| `token`, `pk` | token and key of the partition; token 0 for versions of a whole table |
| `scope` | `cell`, `live`, `shard`; deletions: `row`, `complex`, `partition`, `range`, `table` |
| `ck` | byte-comparable clustering, null for static rows and partitions; start of a range |
| `hi` | end of a range, exclusive |
| `column`, `path` | column and element of cells, collections and shards; see below |
| `win` | precedence (`spark_jobs.expressions`); deletions have only write and deletion time |
| `ckv` | raw clustering values |

Equal elements have one `path`, even if their bytes differ. The names of columns and scopes are
part of the stored format and must not change.
"""

from collections.abc import Collection

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.expressions.counter import parse_shards
from spark_jobs.expressions.precedence import (
    PRECEDENCE,
    cell_precedence,
    deletion_precedence,
    liveness_precedence,
)
from spark_jobs.source.cells import WRITTEN

# In the order of storage: by folder, partition, row and column. So one sort serves every step of a
# view, and compaction writes its rows in the order of the aggregation.
PARTITION = ("table", "bucket", "token", "pk")
PLACE = (*PARTITION, "ck", "column", "scope", "hi", "path")
COLUMNS = (*PLACE, "win", "ckv")
SCHEMA = (
    "table STRING, bucket INT, token BIGINT, pk BINARY, ck BINARY, scope STRING, hi BINARY,"
    f" column STRING, path BINARY, win {PRECEDENCE}, ckv ARRAY<BINARY>"
)
EVENT_SCHEMA = (
    f"kind STRING, lo BINARY, live {WRITTEN}, del {WRITTEN}, cdel ARRAY<{WRITTEN}>,"
    f" cell ARRAY<{WRITTEN}>"
)
"""The members of an event that become versions, unchanged (`spark_jobs.source.cells`)."""
TABLE_BUCKET = -1
LARGEST_TS_US = (1 << 63) - 1
"""Write time of the deletion of a single counter, which no later write undoes."""


def bucket_of(token: Column, buckets: int) -> Column:
    """The bucket of a token."""
    return F.pmod(token, F.lit(buckets)).cast("int")


def bucket_events(cells: DataFrame, buckets: int, counters: Collection[str] = ()) -> DataFrame:
    """Events with their buckets, for storage.

    The columns are `table`, `bucket`, `token`, `pk`, `ck`, `hi`, `ckv`, `event` with the other
    members (`EVENT_SCHEMA`), and `is_counter` for events of a counter table.

    `cells` is the result of `spark_jobs.source.cells.read_cells`, `counters` the ids of counter
    tables. An invalid counter context fails the query before anything is stored.
    """
    rest = F.struct("kind", "lo", "live", "del", "cdel", "cell")
    is_counter = F.lit(False)
    if counters:
        is_sound = F.forall(
            F.coalesce("cell", F.array()),
            lambda cell: (
                cell["val"].isNull()
                | (F.size(parse_shards(F.unbase64(cell["val"]), cell["ts"])) >= 0)
            ),
        )
        is_counter = F.when(F.col("table").isin(*counters), is_sound).otherwise(is_counter)
    return cells.select(
        *("table", bucket_of(F.col("token"), buckets).alias("bucket"), "token", "pk"),
        *("ck", "hi", "ckv", rest.alias("event"), is_counter.alias("is_counter")),
    )


def explode_events(events: DataFrame) -> DataFrame:
    """The versions in the result of `bucket_events`, without counter tables."""
    return _parts(events).drop("is_counter")


def explode_events_with_shards(events: DataFrame) -> DataFrame:
    """The versions in the result of `bucket_events`, with a version for each shard of a counter.

    The tombstone of a counter becomes a deletion that covers its shards.
    """
    parts = _parts(events)
    is_counter = F.col("is_counter") & (F.col("scope") == "cell")
    win = F.col("win")
    is_tombstone = win["value"].isNull()
    permanent = win.withField("ts", F.lit(LARGEST_TS_US))
    one = F.struct(
        F.when(is_counter, "complex").otherwise(F.col("scope")).alias("scope"),
        F.col("path"),
        F.when(is_counter, permanent).otherwise(win).alias("win"),
    )
    shards = F.transform(
        parse_shards(win["value"], win["ts"]),
        lambda shard: F.struct(F.lit("shard").alias("scope"), shard["path"], shard["win"]),
    )
    exploded = parts.withColumn(
        "part", F.explode(F.when(is_counter & ~is_tombstone, shards).otherwise(F.array(one)))
    )
    return exploded.select(
        *("table", "bucket", "token", "pk"),
        F.col("part.scope").alias("scope"),
        *("ck", "hi", "column"),
        F.col("part.path").alias("path"),
        F.col("part.win").alias("win"),
        "ckv",
    )


def by_partition(versions: DataFrame) -> DataFrame:
    """The versions, distributed so that one task has all versions of a partition."""
    return versions.repartition("token", "table", "bucket")


def latest(versions: DataFrame) -> DataFrame:
    """The latest version of each place."""
    return versions.groupBy(*PLACE).agg(
        F.max("win").alias("win"),
        # Equal keys may differ in bytes (1.0 and 1.00); any of them is valid.
        F.min("ckv").alias("ckv"),
    )


def _parts(events: DataFrame) -> DataFrame:
    """One row for each write and deletion of an event, with raw contexts of counters."""
    written = F.concat(
        F.array("event.live", "event.del"),
        F.coalesce("event.cdel", F.array()),
        F.coalesce("event.cell", F.array()),
    )
    exploded = events.select(
        *("table", "bucket", "token", "pk", "ck", "event.lo", "hi", "ckv", "event.kind"),
        "is_counter",
        F.coalesce(F.size("event.cdel"), F.lit(0)).alias("cdel_count"),
        F.posexplode(written).alias("at", "part"),
    ).where(F.col("part").isNotNull())
    at, part, kind = F.col("at"), F.col("part"), F.col("kind")
    scope = (
        F.when(at == 0, "live")
        .when(at == 1, kind)
        .when(at < 2 + F.col("cdel_count"), "complex")
        .otherwise("cell")
    )
    return exploded.select("*", scope.alias("scope")).select(
        *("table", "bucket", "token", "pk", "is_counter", "scope"),
        F.when(F.col("scope") == "range", F.col("lo")).otherwise(F.col("ck")).alias("ck"),
        "hi",
        part["col"].alias("column"),
        F.unbase64(F.coalesce(part["key"], part["path"])).alias("path"),
        F.when(F.col("scope") == "cell", cell_precedence(part))
        .when(F.col("scope") == "live", liveness_precedence(part))
        .otherwise(deletion_precedence(part))
        .alias("win"),
        F.when(F.col("scope").isin("cell", "live"), F.col("ckv")).alias("ckv"),
    )
