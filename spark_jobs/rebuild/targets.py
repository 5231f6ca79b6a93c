"""Writes a rebuilt table as Parquet, Delta or Iceberg, or as files of statements."""

from pyspark.sql import DataFrame

from spark_jobs.column_names import Format
from spark_jobs.delta_table import replace_delta_table


def write_rows(rows: DataFrame, form: Format, target: str) -> None:
    """Replace the target by these rows. Readers of Delta and Iceberg see the old content until
    the new one is complete."""
    match form:
        case "iceberg":
            rows.writeTo(target).using("iceberg").createOrReplace()
        case "delta":
            replace_delta_table(rows, target)
        case "parquet":
            rows.write.mode("overwrite").parquet(target)


def write_statements(statements: DataFrame, target: str) -> None:
    """Replace the folder by text files with one statement a line."""
    statements.write.mode("overwrite").text(target)
