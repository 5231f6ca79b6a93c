"""Delta tables at a path, by SQL, which a session of Spark Connect also understands."""

from collections.abc import Mapping, Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

ANY_NAMES = {"delta.columnMapping.mode": "name"}
"""Options of a writer that creates a table whose columns have names with spaces or brackets."""

_INVALID_NAMES = "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"


def create_delta_table(
    session: SparkSession,
    path: str,
    columns: str,
    partitioned_by: Sequence[str],
    properties: Mapping[str, str] | None = None,
) -> None:
    """Create a table at a path unless there is one, which stays as it is.

    `columns` is a list in DDL.
    """
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in (properties or {}).items())
    session.sql(
        f"CREATE TABLE IF NOT EXISTS delta.`{path}` ({columns}) USING delta "
        f"PARTITIONED BY ({', '.join(partitioned_by)})"
        + (f" TBLPROPERTIES ({listed})" if listed else "")
    )


def replace_delta_table(rows: DataFrame, path: str) -> None:
    """Replace the rows and columns of the table at a path, or create it.

    Readers see the old table until the new one is complete. Columns may have any name.
    """
    writer = rows.write.format("delta").mode("overwrite").options(**ANY_NAMES)
    writer = writer.option("overwriteSchema", "true")
    try:
        writer.save(path)
    except AnalysisException as error:
        if error.getCondition() != _INVALID_NAMES:
            raise
        # A table that exists keeps its properties.
        listed = ", ".join(f"'{name}' = '{value}'" for name, value in ANY_NAMES.items())
        session = rows.sparkSession
        session.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ({listed})")
        writer.save(path)
