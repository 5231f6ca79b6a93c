"""Delta tables at a path, by SQL, which a session of Spark Connect also understands."""

from collections.abc import Mapping, Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

ANY_NAMES = {"delta.columnMapping.mode": "name"}
"""Options of a writer that creates a table whose columns have names with spaces or brackets."""

_INVALID_NAMES = "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"


def listed(properties: Mapping[str, str]) -> str:
    """Properties of a table in SQL."""
    return ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())


def table_properties(session: SparkSession, table: str) -> dict[str, str]:
    """The properties of a table of any format, by its name in SQL."""
    rows = session.sql(f"SHOW TBLPROPERTIES {table}").collect()
    return {row["key"]: row["value"] for row in rows}


def append_batch(rows: DataFrame, path: str, app: str, number: int, **options: str) -> None:
    """Append a micro-batch durably, unless the table has this number, or a later one, of `app`."""
    writer = rows.write.format("delta").mode("append").options(**options)
    writer.option("txnAppId", app).option("txnVersion", number).save(path)


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
    session.sql(
        f"CREATE TABLE IF NOT EXISTS delta.`{path}` ({columns}) USING delta "
        f"PARTITIONED BY ({', '.join(partitioned_by)})"
        + (f" TBLPROPERTIES ({listed(properties)})" if properties else "")
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
        rows.sparkSession.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ({listed(ANY_NAMES)})")
        writer.save(path)
