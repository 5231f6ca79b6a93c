"""Counter contexts (`CounterContext`): shards out of raw cells, and their sum.

A shard is kept in a `win` of its own meaning, so that the largest is the newest one of its leader:
`ts` is the clock, `ldt` the write time in microseconds, `value` the count as eight bytes.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.faults import MARK

_ID_BYTES, _NUMBER_BYTES, _SHARD_BYTES = 16, 8, 32
NO_TOTALS = "is no counter context with a total for each leader"
"""Says why a value is refused."""


def shards_of(context: Column, ts_us: Column) -> Column:
    """The shards of a raw context: an array of structs of `path`, the counter id, and `win`.

    Anything but totals (bytes that are no context; shards of releases before 2.1) is an error of
    the query.
    """
    entries = _number(F.substring(context, 1, 2))
    count = ((F.length(context) - 2 - 2 * entries) / _SHARD_BYTES).cast("int")
    start = 3 + 2 * entries
    places = F.when(count > 0, F.sequence(F.lit(0), count - 1)).otherwise(
        F.array().cast("array<int>")
    )
    is_total = (
        (F.length(context) == 2 + 2 * entries + _SHARD_BYTES * count)
        & (entries == count)
        & F.forall(
            places, lambda place: F.substr(context, 3 + 2 * place, F.lit(1)) >= F.unhex(F.lit("80"))
        )
    )

    def shard(place: Column) -> Column:
        at = start + place * _SHARD_BYTES
        clock = F.substr(context, at + _ID_BYTES, F.lit(_NUMBER_BYTES))
        value = F.substr(context, at + _ID_BYTES + _NUMBER_BYTES, F.lit(_NUMBER_BYTES))
        win = F.struct(
            _number(clock).alias("ts"),
            F.lit(0).alias("rank"),
            ts_us.alias("ldt"),
            F.lit(None).cast("int").alias("neg_ttl"),
            value.alias("value"),
            F.lit(None).cast("binary").alias("path"),
        )
        return F.struct(F.substr(context, at, F.lit(_ID_BYTES)).alias("path"), win.alias("win"))

    refused = F.raise_error(
        F.concat(F.lit(f"{MARK}The value "), F.hex(context), F.lit(f" {NO_TOTALS}."))
    )
    return F.when(is_total, F.transform(places, shard)).otherwise(refused)


def count_of(value: Column) -> Column:
    """Eight bytes as a number."""
    return _number(value)


def _number(value: Column) -> Column:
    """Big-endian bytes as a number; eight of them with their sign."""
    return F.conv(F.hex(value), 16, -10).cast("bigint")
