"""Many changes of a document → the latest."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

KEY = ("collection", "id")
_REST = ("position", "state", "document", "place")


def latest(changes: DataFrame) -> DataFrame:
    """One row for each document, with the columns of `changes`.

    In any order and with any repeats the result is the same, and so is that of the results of
    parts: the greatest of positions, of which no two of a document are equal.
    """
    greatest = F.max(F.struct(*_REST)).alias("latest")
    return changes.groupBy(*KEY).agg(greatest).select(*KEY, "latest.*")
