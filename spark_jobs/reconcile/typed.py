"""Rows that are shown, as the source table has them: its columns, names and types.

Values are decoded from their raw bytes by the Rust extension, whole Arrow batches at a time.
"""

from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from commitlog.arrow import Decoder
from spark_jobs.reconcile.layout import Layout
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.visible import visible


def table_at(layout: Layout, schema: SourceSchema, table: SourceTable, now_s: int) -> DataFrame:
    """The source table at a second, with its columns and types."""
    shown = visible(layout.held([table.id]), now_s, table.dropped, table.columns)
    return typed(shown, schema, table)


def typed(
    rows: DataFrame, schema: SourceSchema, table: SourceTable, *, carry: Sequence[str] = ()
) -> DataFrame:
    """What `visible` shows of one table with the columns of `SELECT *`, keys first.

    docs/reference/types.md lists the Spark type of each CQL type. The columns `carry` of
    `rows` pass through unchanged, first.
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
            (_elements(cells, name) if is_cell_by_cell else _value(cells, name)).alias(name)
            for name, is_cell_by_cell in table.columns.items()
        ),
    )
    carried = [rows.schema[name] for name in carry]
    types = StructType([*carried, *from_arrow_schema(decoder.schema).fields])
    return raw.mapInArrow(decoder.decode_all, types)


def _value(cells: Column, column: str) -> Column:
    """Of a column of one cell; null if there is none."""
    found = F.filter(cells, lambda cell: cell["column"] == column)
    return F.get(found, F.lit(0))["value"]


def _elements(cells: Column, column: str) -> Column:
    """Of a column that is stored cell by cell; null if there is no element."""
    found = F.filter(cells, lambda cell: cell["column"] == column)
    elements = F.transform(found, lambda cell: F.struct(cell["path"], cell["value"]))
    return F.when(F.size(elements) > 0, F.array_sort(elements))


def _unused(name: str, columns: Iterable[str]) -> str:
    while name in columns:
        name = f"_{name}"
    return name
