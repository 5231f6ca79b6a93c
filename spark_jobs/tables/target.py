"""Opens, creates and evolves the typed table of a source table."""

import logging
from collections.abc import Mapping

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType

from sidecar.errors import ConfigError
from sidecar.logs import fields
from spark_jobs.session import require_iceberg
from spark_jobs.tables.columns import Columns, column_changes
from spark_jobs.tables.format.delta import DeltaTypedTable
from spark_jobs.tables.format.iceberg import IcebergTypedTable
from spark_jobs.tables.format.typed_table import TableDefinition, TargetError, TypedTable
from spark_jobs.tables.options import TargetOptions

logger = logging.getLogger(__name__)


def open_table(session: SparkSession, options: TargetOptions, full_name: str) -> TypedTable:
    """The typed table of a source table (`keyspace.table`). It need not exist."""
    name = options.target_name(full_name)
    if options.format == "delta":
        return DeltaTypedTable(session, name[0])
    require_iceberg(session)
    return IcebergTypedTable(session, name, options.iceberg_deletes)


def read_table(
    session: SparkSession, options: TargetOptions, full_name: str, version: int | None = None
) -> DataFrame:
    """The rows of the latest complete batch, or of a Delta version or Iceberg snapshot."""
    return open_table(session, options, full_name).read(version)


def open_existing_table(
    session: SparkSession, options: TargetOptions, full_name: str
) -> TypedTable:
    """The typed table of a source table. Raises `ConfigError` if it does not exist."""
    table = open_table(session, options, full_name)
    if not table.exists():
        raise ConfigError(
            f"{table.sql_name} does not exist. Correct `target` or `table`, or run "
            "`python -m spark_jobs.tables` first."
        )
    return table


def create_table(
    table: TypedTable,
    options: TargetOptions,
    full_name: str,
    app: str,
    table_id: str,
    columns: Columns,
) -> None:
    """Create a table with the layout of the options. `columns` are the source columns, keys first.

    Raises `ConfigError`.
    """
    properties = {}
    if options.format == "iceberg":
        properties["format-version"] = options.iceberg_format_version
    layout = options.partition_by.get(full_name, ""), options.cluster_by.get(full_name, "")
    try:
        table.create(TableDefinition(app, table_id, columns, *layout, properties))
    except (AnalysisException, ParseException) as error:
        first_line = str(error).strip().split("\n", 1)[0].rstrip(".")
        raise ConfigError(
            f"Cannot create {table.sql_name}: {first_line}. Correct `target`, "
            f"`partition.by.{full_name}` or `cluster.by.{full_name}`."
        ) from error
    logger.info("table created", extra=fields(table=table.sql_name))


def require_owner(table: TypedTable, app: str, table_id: str) -> None:
    """Raise `TargetError` if another store or another source table fills an existing table."""
    match table.owner():
        case None:
            what = "was not created by this job"
        case other_app, _ if other_app != app:
            what = "is filled from another store"
        case _, other_id if other_id != table_id:
            what = "is filled from an older table of the same name, which was dropped in Cassandra"
        case _:
            return
    raise TargetError(
        f"{table.sql_name} {what}. Drop or rename it, or set a different `target`, and start again."
    )


def evolve(
    table: TypedTable, wanted: Mapping[str, DataType], keys: int, replaced: frozenset[str]
) -> None:
    """Bring the columns of an existing table up to date. `wanted` are the source columns."""
    stored = {name: table.stored_type(kind) for name, kind in wanted.items()}
    changes = column_changes(table.columns(), stored, keys, replaced)
    if changes:
        table.evolve(changes)
        logger.info("columns changed", extra=fields(table=table.sql_name, changes=len(changes)))
