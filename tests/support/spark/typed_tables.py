"""Typed tables in tests: both formats, and batches of net changes made by hand."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructField, StructType

from spark_jobs.tables.format.typed_table import NetChanges, TypedTable, net_changes
from spark_jobs.tables.options import TargetOptions
from spark_jobs.tables.target import create_table, open_table
from tests.support.spark.options import options_of

FORMATS = ("delta", "iceberg")
APP, TABLE_ID, NAME = "store-1", "table-1", "shop.carts"
Row = Mapping[str, Any]
Change = tuple[int, str, Row | None]
"""Number of the row, operation, and the row after it."""


def catalog_settings(folder: Path) -> dict[str, str]:
    """A catalog `lake` of Iceberg tables in a folder."""
    return {
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(folder / "warehouse"),
    }


def target_options(
    session: SparkSession, folder: Path, table_format: str, **settings: str
) -> TargetOptions:
    """Options of a target in a folder. Each folder has a catalog of its own."""
    target = str(folder / "tables")
    if table_format == "iceberg":
        # A session keeps a catalog that it has used.
        catalog = f"lake_{folder.name}"
        for name, value in catalog_settings(folder).items():
            session.conf.set(name.replace("catalog.lake", f"catalog.{catalog}"), value)
        target = catalog
    return options_of(TargetOptions, {"format": table_format, "target": target, **settings})


def new_table(
    session: SparkSession, options: TargetOptions, columns: Mapping[str, DataType]
) -> TypedTable:
    table = open_table(session, options, NAME)
    create_table(table, options, NAME, APP, TABLE_ID, columns)
    return table


def row_id(number: int) -> bytes:
    return number.to_bytes(16, "big")


def changes_frame(
    session: SparkSession, columns: Mapping[str, DataType], changes: Sequence[Change]
) -> DataFrame:
    """Changes with the columns of `Merger.changes` that targets read."""
    after = StructType([StructField(name, kind) for name, kind in columns.items()])
    schema = StructType().add("cdc_row_id", "binary").add("op", "string").add("after", after)
    return session.createDataFrame(
        [
            (bytearray(row_id(number)), op, None if row is None else tuple(row[n] for n in columns))
            for number, op, row in changes
        ],
        schema,
    ).coalesce(1)


def counts_of(changes: Sequence[Change]) -> Mapping[str, int]:
    """The number of changes by operation."""
    return Counter(op for _, op, _ in changes)


def batch_of(
    session: SparkSession, columns: Mapping[str, DataType], changes: Sequence[Change]
) -> NetChanges:
    frame = changes_frame(session, columns, changes)
    return net_changes(frame, columns, counts_of(changes))


def stored_rows(frame: DataFrame) -> dict[bytes, dict[str, Any]]:
    """The rows of a typed table by row id. A repeated row is an error."""
    rows = [row.asDict(recursive=True) for row in frame.collect()]
    found = {bytes(row.pop("cdc_row_id")): row for row in rows}
    assert len(found) == len(rows)
    return found
