"""Precedence: a struct that is larger than the structs of all cells that this cell supersedes.

    struct<ts, rank, ldt, neg_ttl, value, path>

Spark compares structs field by field, with nulls first and binaries as unsigned bytes. So `max` of
precedences is `Cells#resolveRegular`. `ts` is in microseconds and `ldt` in seconds. `ldt` is null
for a live cell, `neg_ttl` is minus the TTL in seconds, and a tombstone has no value. `path` is the
element as it was written, because equal elements may differ in their bytes.

Stored tables have precedences in a column `win`.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

PRECEDENCE = "STRUCT<ts: BIGINT, rank: INT, ldt: BIGINT, neg_ttl: INT, value: BINARY, path: BINARY>"
LIVE, EXPIRING, TOMBSTONE = 0, 1, 2
"""Values of `rank`. The larger rank takes precedence at equal write times."""


def cell_precedence(cell: Column) -> Column:
    """The precedence of a member of `cell`, whose `val` is in base64."""
    is_tombstone = cell["val"].isNull()
    rank = F.when(is_tombstone, TOMBSTONE).otherwise(_rank_by_ttl(cell))
    ttl_s = F.when(~is_tombstone, cell["ttl"])
    path = F.when(cell["key"].isNotNull(), F.unbase64(cell["path"]))
    return _precedence(cell["ts"], rank, cell["ldt"], ttl_s, F.unbase64(cell["val"]), path)


def liveness_precedence(live: Column) -> Column:
    """The precedence of `live`, the row marker of an INSERT (`LivenessInfo#supersedes`)."""
    return _precedence(live["ts"], _rank_by_ttl(live), live["ldt"], live["ttl"])


def deletion_precedence(deletion: Column) -> Column:
    """The precedence of `del` or a member of `cdel` (`DeletionTime#supersedes`)."""
    no_ttl = F.lit(None).cast("int")
    return _precedence(deletion["ts"], F.lit(TOMBSTONE), deletion["ldt"], no_ttl)


def is_live(precedence: Column, now_s: Column) -> Column:
    """Whether a cell or a liveness is neither a tombstone nor expired at this second."""
    is_unexpired = (precedence["rank"] == EXPIRING) & (now_s < precedence["ldt"])
    return (precedence["rank"] == LIVE) | is_unexpired


def is_purgeable(precedence: Column, before_s: Column) -> Column:
    """Whether a deletion or an expiry was before this second."""
    return (precedence["rank"] != LIVE) & (precedence["ldt"] < before_s)


def _rank_by_ttl(written: Column) -> Column:
    return F.when(written["ttl"] > 0, EXPIRING).otherwise(LIVE)


def _precedence(
    ts_us: Column,
    rank: Column,
    ldt_s: Column,
    ttl_s: Column,
    value: Column | None = None,
    path: Column | None = None,
) -> Column:
    nothing = F.lit(None).cast("binary")
    return F.struct(
        ts_us.alias("ts"),
        rank.cast("int").alias("rank"),
        ldt_s.alias("ldt"),
        (-ttl_s).alias("neg_ttl"),
        (nothing if value is None else value).alias("value"),
        (nothing if path is None else path).alias("path"),
    )
