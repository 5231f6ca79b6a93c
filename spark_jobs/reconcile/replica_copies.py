"""Drops replica copies of an event before Spark parses their JSON.

Replica copies have equal `cells`, byte for byte, and equal ids. The id alone is not enough: two
attempts of one statement have equal ids but different local deletion times, and the largest counts.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

READ = ("id", "value", "topic", "partition", "offset")
"""The columns of events that reconcile reads."""
_CELLS = '"cells":'
_BEGIN = '{"kind":"'
_OBJECT = "{"
_WITH_SCHEMA = '{"schema":'


def drop_replica_copies(events: DataFrame) -> DataFrame:
    """One copy of each event of `spark_jobs.source.events`; events without a value are dropped.

    The columns are `value`, text with the member `cells` that may lack all members before it, and
    `topic`, `partition` and `offset` of the copy.
    """
    text = F.col("value").cast("string")
    # A separate column, because Spark would repeat the search for each reference.
    parts = events.where(F.col("id").isNotNull() & F.col("value").isNotNull()).select(
        *("id", "topic", "partition", "offset"),
        text.alias("value"),
        F.substring_index(text, _CELLS, -1).alias("rest"),
    )
    return parts.groupBy("id", "topic", "partition", _only_cells().alias("value")).agg(
        F.min("offset").alias("offset")
    )


def _only_cells() -> Column:
    """An object with `cells` alone, if they are its last member as agents write it.

    Any other value, also one with a schema of Connect, stays unchanged. The text `"cells":` cannot
    occur inside `cells`, because names are values there and their quotes are escaped. It can occur
    in other formats, such as Avro.
    """
    is_object = F.startswith("value", F.lit(_OBJECT))
    has_schema = F.startswith("value", F.lit(_WITH_SCHEMA))
    is_last = is_object & ~has_schema & F.startswith("rest", F.lit(_BEGIN))
    found = F.when(is_last, F.concat(F.lit("{" + _CELLS), "rest")).otherwise(F.col("value"))
    # The value is never null. Without `coalesce` Spark would check every record for null.
    return F.coalesce(found, F.lit(""))
