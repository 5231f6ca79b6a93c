"""Visible rows with the columns, names and types of the source table.

The Rust extension decodes raw values in Arrow batches.
"""

from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from commitlog.arrow import Decoder
from spark_jobs.reconcile.layout.protocol import Layout
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.visible_rows import visible_rows


def table_at(layout: Layout, schema: SourceSchema, table: SourceTable, now_s: int) -> DataFrame:
    """The source table at a second, with its columns and types."""
    rows = visible_rows(layout.stored_versions([table.id]), now_s, table.dropped, table.columns)
    return with_types(rows, schema, table)


def with_types(
    rows: DataFrame, schema: SourceSchema, table: SourceTable, *, carry: Sequence[str] = ()
) -> DataFrame:
    """Rows of `visible_rows` with the columns of `SELECT *`, keys first.

    The reference of types lists the Spark type of each CQL type. The columns of `rows` in `carry`
    come first, unchanged.
    """
    key, clustering = (_unused(name, table.columns) for name in ("pk", "ckv"))
    decoder = Decoder(
        schema.schema,
        table.keyspace,
        table.name,
        table_id=table.id,
        partition_key=key,
        clustering=clustering,
        carry=carry,
    )
    cells = F.concat("cells", "statics")
    raw = rows.select(
        *carry,
        F.col("pk").alias(key),
        F.col("ckv").alias(clustering),
        *(
            (_elements(cells, name) if has_several_cells else _value(cells, name)).alias(name)
            for name, has_several_cells in table.columns.items()
        ),
    )
    carried = [rows.schema[name] for name in carry]
    types = StructType([*carried, *from_arrow_schema(decoder.schema).fields])
    return raw.mapInArrow(decoder.decode_all, types)


def _value(cells: Column, column: str) -> Column:
    """The value of a column with one cell; null without a cell."""
    found = F.filter(cells, lambda cell: cell["column"] == column)
    return F.get(found, F.lit(0))["value"]


def _elements(cells: Column, column: str) -> Column:
    """The elements of a column with several cells; null without elements."""
    found = F.filter(cells, lambda cell: cell["column"] == column)
    elements = F.transform(found, lambda cell: F.struct(cell["path"], cell["value"]))
    return F.when(F.size(elements) > 0, F.array_sort(elements))


def _unused(name: str, columns: Iterable[str]) -> str:
    """The name, with underscores added until no column has it."""
    while name in columns:
        name = f"_{name}"
    return name
