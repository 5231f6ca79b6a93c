"""Counts and examples of rows that differ, from all of them."""

from enum import StrEnum
from typing import TypeVar

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.compare.findings import DifferingRow

_Cause = TypeVar("_Cause", bound=StrEnum)


def example_rows(
    found: DataFrame, causes: type[_Cause], limit: int
) -> tuple[dict[_Cause, int], list[DifferingRow]]:
    """The number of rows by cause, and up to `limit` rows of each cause, the worst first.

    `causes` are in the order of their severity. `found` has the columns `cause`, `key`, `columns`
    and `token`.
    """
    of_cause = Window.partitionBy("cause")
    ranked = found.select(
        *("cause", "key", "columns"),
        F.count(F.lit(1)).over(of_cause).alias("rows"),
        F.row_number().over(of_cause.orderBy("token", "key")).alias("number"),
    )
    some = ranked.where(F.col("number") <= limit).collect()
    severity = {cause: index for index, cause in enumerate(causes)}
    some.sort(key=lambda row: (severity[causes(row["cause"])], row["number"]))
    rows = [DifferingRow(causes(row["cause"]), row["key"], row["columns"]) for row in some]
    return {causes(row["cause"]): row["rows"] for row in some}, rows
