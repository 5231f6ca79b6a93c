"""One of the copies of an event that replicas send, found before its JSON is parsed.

Copies say the same in `cells`, to the letter. Their ids are equal too, but those of two attempts of
one statement are as well, whose local deletion times differ, and the largest of them counts.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

READ = ("id", "value", "topic", "partition", "offset")
"""The columns of events that are looked at."""
_CELLS = '"cells":'
_BEGIN = '{"kind":"'
_OBJECT = "{"


def without_copies(events: DataFrame) -> DataFrame:
    """`events` as `spark_jobs.source.events` gives them; the columns are `value`, text that has
    `cells` and may lack everything before it, and `topic`, `partition` and `offset` of one copy.
    Events without a value are left out."""
    text = F.col("value").cast("string")
    # A column of its own, since Spark would look for the place as often as it is named.
    parts = events.where(F.col("id").isNotNull() & F.col("value").isNotNull()).select(
        *("id", "topic", "partition", "offset"),
        text.alias("value"),
        F.substring_index(text, _CELLS, -1).alias("rest"),
    )
    return parts.groupBy("id", "topic", "partition", _from_cells_on().alias("value")).agg(
        F.min("offset").alias("offset")
    )


def _from_cells_on() -> Column:
    """The last member of the envelope as agents write it, as an object; what is of another form
    stays as it is. Within `cells` the text that is looked for cannot stand: names are values
    there, and quotes in them are escaped. In a value that is no JSON, such as Avro, it can."""
    is_object = F.startswith("value", F.lit(_OBJECT))
    is_last = is_object & F.startswith("rest", F.lit(_BEGIN))
    found = F.when(is_last, F.concat(F.lit("{" + _CELLS), "rest")).otherwise(F.col("value"))
    # It never is null, but Spark only knows if told, and would look for nulls in every record.
    return F.coalesce(found, F.lit(""))
