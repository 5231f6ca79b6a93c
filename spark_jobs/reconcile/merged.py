"""Stored rows merged by the Rust extension, in Arrow batches: one exchange and one sort by token.

All events and states of a partition reach one task, next to each other. `commitlog.merge.Merger`
applies the rules of docs/reference/event-format.md, section 5.
"""

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from commitlog.merge import Merger
from spark_jobs.column_names import ROW_ID, ColumnNameError
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable

Merge = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def merger_of(schema: SourceSchema, table: SourceTable) -> Merger:
    """The merger of a source table. Raises `ColumnNameError` for the column `cdc_row_id`."""
    try:
        return Merger(schema.schema, table.keyspace, table.name, table_id=table.id)
    except ValueError as error:
        raise ColumnNameError(str(error)) from error


def typed_row(merger: Merger) -> StructType:
    """The columns of a source table, with their types."""
    typed = from_arrow_schema(merger.typed_schema)
    return StructType([field for field in typed if field.name != ROW_ID])


def merged(stored: DataFrame, merge: Merge, schema: pa.Schema) -> DataFrame:
    """The result of `merge`, a method of `Merger`, over stored rows in any order."""
    by_token = stored.repartition("token").sortWithinPartitions("token")
    return by_token.mapInArrow(merge, from_arrow_schema(schema))
