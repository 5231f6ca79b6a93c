"""The messages of an interrupted batch that its topic does not have yet."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.changes.messages import IS_TOMBSTONE

_IS_SENT = "_is_sent"
_PLACE = ("seq", IS_TOMBSTONE)


def unsent(messages: DataFrame, sent: DataFrame) -> DataFrame:
    """For each row, its messages from the first one that is not in `sent`.

    A message after a missing one is sent again even if the topic has it. Otherwise the last message
    of a row would not be its last change.
    """
    known = sent.withColumn(_IS_SENT, F.lit(True))
    marked = messages.join(known, ["id", IS_TOMBSTONE], "left")
    place = F.struct(*_PLACE)
    missing = F.when(F.col(_IS_SENT).isNull(), place)
    first = F.min(missing).over(Window.partitionBy("token", "cdc_row_id"))
    found = marked.withColumn("_first", first)
    return found.where(F.struct(*_PLACE) >= F.col("_first")).drop(_IS_SENT, "_first")
