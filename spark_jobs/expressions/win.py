"""`win`: a struct that is larger than that of every cell it wins against.

    struct<ts, rank, ldt, neg_ttl, value, path>

Spark orders structs field by field, nulls first, and binaries as unsigned bytes, so `max(win)` is
`Cells#resolveRegular`. `ts` is in microseconds, `ldt` in seconds; `ldt` is null where nothing
expires or is deleted, `neg_ttl` is minus the TTL in seconds, and a tombstone has no value. `path`
is how the element was written, where equal ones may differ in that: the one that wins stands.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

WIN = "STRUCT<ts: BIGINT, rank: INT, ldt: BIGINT, neg_ttl: INT, value: BINARY, path: BINARY>"
LIVE, EXPIRING, TOMBSTONE = 0, 1, 2
"""`rank`: what is larger wins at equal write times."""


def win_of_cell(cell: Column) -> Column:
    """Of a member of `cell`, whose `val` is in base64."""
    is_tombstone = cell["val"].isNull()
    rank = F.when(is_tombstone, TOMBSTONE).otherwise(_rank_by_ttl(cell))
    ttl_s = F.when(~is_tombstone, cell["ttl"])
    path = F.when(cell["key"].isNotNull(), F.unbase64(cell["path"]))
    return _win(cell["ts"], rank, cell["ldt"], ttl_s, F.unbase64(cell["val"]), path)


def win_of_liveness(live: Column) -> Column:
    """Of `live`: what an INSERT leaves besides its cells (`LivenessInfo#supersedes`)."""
    return _win(live["ts"], _rank_by_ttl(live), live["ldt"], live["ttl"])


def win_of_deletion(deletion: Column) -> Column:
    """Of `del` or a member of `cdel` (`DeletionTime#supersedes`)."""
    no_ttl = F.lit(None).cast("int")
    return _win(deletion["ts"], F.lit(TOMBSTONE), deletion["ldt"], no_ttl)


def is_live(win: Column, now_s: Column) -> Column:
    """Whether a cell or a liveness is neither a tombstone nor expired at this second."""
    return (win["rank"] == LIVE) | ((win["rank"] == EXPIRING) & (now_s < win["ldt"]))


def is_past(win: Column, before_s: Column) -> Column:
    """Whether it was deleted or expired before this second, and may be forgotten."""
    return (win["rank"] != LIVE) & (win["ldt"] < before_s)


def _rank_by_ttl(written: Column) -> Column:
    return F.when(written["ttl"] > 0, EXPIRING).otherwise(LIVE)


def _win(
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
