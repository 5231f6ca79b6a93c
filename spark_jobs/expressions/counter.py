"""Counter contexts (`CounterContext`): the shards of a raw counter cell, and their values.

Each leader of a counter writes a shard with its own total. A shard has a precedence struct with
other meanings, so that the largest is the latest shard of its leader: `ts` is the clock, `ldt` the
write time in microseconds, `value` the total as eight bytes.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.error_mapping import MESSAGE_PREFIX

_ID_BYTES, _NUMBER_BYTES, _SHARD_BYTES = 16, 8, 32
INVALID_CONTEXT = (
    "is not a counter context with a total for each leader, as Cassandra 2.1 and later writes it. "
    "Remove its table from `counter.tables`, and select other tables with `tables`"
)


def parse_shards(context: Column, ts_us: Column) -> Column:
    """The shards of a raw context: an array of structs of `path` (the counter id) and `win`.

    An invalid context fails the query, and so do the shards of releases before 2.1, which are
    differences instead of totals.
    """
    entries = _number(F.substring(context, 1, 2))
    count = ((F.length(context) - 2 - 2 * entries) / _SHARD_BYTES).cast("int")
    start = 3 + 2 * entries
    indexes = F.when(count > 0, F.sequence(F.lit(0), count - 1)).otherwise(
        F.array().cast("array<int>")
    )
    is_total = (
        (F.length(context) == 2 + 2 * entries + _SHARD_BYTES * count)
        & (entries == count)
        & F.forall(
            indexes,
            lambda index: F.substr(context, 3 + 2 * index, F.lit(1)) >= F.unhex(F.lit("80")),
        )
    )

    def shard(index: Column) -> Column:
        at = start + index * _SHARD_BYTES
        clock = F.substr(context, at + _ID_BYTES, F.lit(_NUMBER_BYTES))
        value = F.substr(context, at + _ID_BYTES + _NUMBER_BYTES, F.lit(_NUMBER_BYTES))
        precedence = F.struct(
            _number(clock).alias("ts"),
            F.lit(0).alias("rank"),
            ts_us.alias("ldt"),
            F.lit(None).cast("int").alias("neg_ttl"),
            value.alias("value"),
            F.lit(None).cast("binary").alias("path"),
        )
        counter_id = F.substr(context, at, F.lit(_ID_BYTES))
        return F.struct(counter_id.alias("path"), precedence.alias("win"))

    rejected = F.raise_error(
        F.concat(
            F.lit(f"{MESSAGE_PREFIX}The value "), F.hex(context), F.lit(f" {INVALID_CONTEXT}.")
        )
    )
    return F.when(is_total, F.transform(indexes, shard)).otherwise(rejected)


def parse_count(value: Column) -> Column:
    """The total in the eight bytes of a shard."""
    return _number(value)


def _number(value: Column) -> Column:
    """A number from big-endian bytes; eight bytes are signed."""
    return F.conv(F.hex(value), 16, -10).cast("bigint")
