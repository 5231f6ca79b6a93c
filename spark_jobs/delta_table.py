"""Delta tables at a path, by SQL, which a session of Spark Connect also understands."""

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession


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
