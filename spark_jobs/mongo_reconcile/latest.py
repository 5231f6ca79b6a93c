"""The latest change of each document."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

KEY = ("collection", "id")
_REST = ("position", "state", "document", "place")


def latest(changes: DataFrame) -> DataFrame:
    """The change with the largest position of each document, with the columns of `changes`.

    Positions of a document are unique, so neither the order nor repetitions change the result. You
    can also apply `latest` to parts and then to their results.
    """
    greatest = F.max(F.struct(*_REST)).alias("latest")
    return changes.groupBy(*KEY).agg(greatest).select(*KEY, "latest.*")
