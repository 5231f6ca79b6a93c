"""Counter contexts (`CounterContext`): the shards of a raw counter cell."""

from pyspark.sql import Column
from pyspark.sql import functions as F

_SHARD_BYTES = 32
INVALID_CONTEXT = (
    "has a counter cell that is not a context with a total for each leader, as Cassandra 2.1 and "
    "later writes it. Remove its table from `counter.tables`, and select other tables with `tables`"
)


def is_valid_context(context: Column) -> Column:
    """Whether a raw context has a total for each leader.

    Shards of releases before 2.1 are differences instead of totals, so they are not valid.
    """
    entries = F.conv(F.hex(F.substring(context, 1, 2)), 16, -10).cast("int")
    indexes = F.when(entries > 0, F.sequence(F.lit(0), entries - 1)).otherwise(
        F.array().cast("array<int>")
    )
    is_complete = F.length(context) == 2 + (2 + _SHARD_BYTES) * entries
    # A global shard, which has a total, has its index minus 32768 as its entry.
    has_totals = F.forall(
        indexes, lambda index: F.substr(context, 3 + 2 * index, F.lit(1)) >= F.unhex(F.lit("80"))
    )
    return F.coalesce(is_complete & has_totals, F.lit(False))
