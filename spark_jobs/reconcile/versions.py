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

from spark_jobs.events import WRITTEN
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
EVENT_SCHEMA = (
    f"kind STRING, lo BINARY, live {WRITTEN}, del {WRITTEN}, cdel ARRAY<{WRITTEN}>,"
    f" cell ARRAY<{WRITTEN}>"
)
"""What an event says of its places, as it came (`spark_jobs.events`)."""
TABLE_BUCKET = -1
FOR_GOOD_US = (1 << 63) - 1
"""Write time of what nothing that is written later undoes: the deletion of a single counter."""


def bucket_of(token: Column, buckets: int) -> Column:
    """Which of so many buckets a token belongs to."""
    return F.pmod(token, F.lit(buckets)).cast("int")


def events_of(cells: DataFrame, buckets: int, counters: Collection[str] = ()) -> DataFrame:
    """Events with their buckets: `table`, `bucket`, `token`, `pk`, `ck`, `hi`, `ckv`, the rest as
    one struct (`EVENT_SCHEMA`), and whether the table is one of counters.

    `cells` is what `spark_jobs.events.read_cells` gives, `counters` the ids of counter tables. What
    is no context of a counter is an error of the query: it is refused before it is stored.
    """
    rest = F.struct("kind", "lo", "live", "del", "cdel", "cell")
    is_counter = F.lit(False)
    if counters:
        is_sound = F.forall(
            F.coalesce("cell", F.array()),
            lambda cell: (
                cell["val"].isNull() | (F.size(shards_of(F.unbase64(cell["val"]), cell["ts"])) >= 0)
            ),
        )
        is_counter = F.when(F.col("table").isin(*counters), is_sound).otherwise(is_counter)
    return cells.select(
        *("table", bucket_of(F.col("token"), buckets).alias("bucket"), "token", "pk"),
        *("ck", "hi", "ckv", rest.alias("event"), is_counter.alias("is_counter")),
    )


def versions_of(cells: DataFrame, buckets: int, counters: Collection[str] = ()) -> DataFrame:
    """What events say, as versions; the arguments are those of `events_of`."""
    events = events_of(cells, buckets, counters)
    return versions_with_shards(events) if counters else versions_in(events)


def versions_in(events: DataFrame) -> DataFrame:
    """The versions in what `events_of` gives, where none is of a counter table."""
    return _parts(events).drop("is_counter")


def versions_with_shards(events: DataFrame) -> DataFrame:
    """The versions in what `events_of` gives: contexts of counter tables taken apart; the
    tombstone of a counter covers its shards."""
    parts = _parts(events)
    is_counter = F.col("is_counter") & (F.col("scope") == "cell")
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
    taken_apart = parts.withColumn(
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


def _parts(events: DataFrame) -> DataFrame:
    """Everything that an event says, one row each, cells of counters as they came."""
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
        F.when(F.col("scope") == "cell", win_of_cell(part))
        .when(F.col("scope") == "live", win_of_liveness(part))
        .otherwise(win_of_deletion(part))
        .alias("win"),
        F.when(F.col("scope").isin("cell", "live"), F.col("ckv")).alias("ckv"),
    )
