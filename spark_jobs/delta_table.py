"""Delta tables at a path, through SQL, which Spark Connect sessions also support."""

from collections.abc import Mapping, Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

ANY_NAMES = {"delta.columnMapping.mode": "name"}
"""Writer options that allow spaces and brackets in the column names of a new table."""

_INVALID_NAMES = "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"


def listed(properties: Mapping[str, str]) -> str:
    """Format table properties for SQL."""
    return ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())


def table_properties(session: SparkSession, table: str) -> dict[str, str]:
    """The properties of a table in any format, by its SQL name."""
    rows = session.sql(f"SHOW TBLPROPERTIES {table}").collect()
    return {row["key"]: row["value"] for row in rows}


def append_batch(rows: DataFrame, path: str, app: str, number: int, **options: str) -> None:
    """Append a micro-batch, unless the table already contains this or a later one of `app`."""
    writer = rows.write.format("delta").mode("append").options(**options)
    writer.option("txnAppId", app).option("txnVersion", number).save(path)


def create_delta_table(
    session: SparkSession,
    path: str,
    columns: str,
    partitioned_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
) -> None:
    """Create a table at a path, unless it exists. `columns` is a DDL list."""
    session.sql(
        f"CREATE TABLE IF NOT EXISTS delta.`{path}` ({columns}) USING delta"
        + (f" PARTITIONED BY ({', '.join(partitioned_by)})" if partitioned_by else "")
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
        # The writer does not change the properties of an existing table.
        rows.sparkSession.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ({listed(ANY_NAMES)})")
        writer.save(path)
