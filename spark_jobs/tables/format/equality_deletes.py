"""Equality deletes in Iceberg: deletes rows by their ids, without scanning the table.

A delete file contains the ids of a batch, and applies to all rows of earlier commits. Spark has no
statement for this, so Spark writes a plain Parquet file, and Iceberg's Java API commits it.
"""

import uuid
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.column_names import ROW_ID
from spark_jobs.tables.format.typed_table import TargetError

_FIELD_ID = "parquet.field.id"
_IDS_PER_FILE = 1_000_000
_NO_MARKER = "mapreduce.fileoutputcommitter.marksuccessfuljobs"


def delete_by_id(
    ids: DataFrame, count: int, table: str, branch: str, properties: Mapping[str, str]
) -> None:
    """Commit the deletion of the rows with these ids to a branch.

    `ids` has the column `cdc_row_id` and `count` rows. `properties` are stored in the snapshot.
    Raises `TargetError` for a partitioned table: a delete file applies to only one partition.
    """
    session = ids.sparkSession
    java_table = iceberg_table(session, table)
    java_table.refresh()
    if java_table.spec().isPartitioned():
        raise TargetError(
            f"{table} has partitions, but `iceberg.deletes=equality` needs an unpartitioned table. "
            "Set `iceberg.deletes=position`."
        )
    field = java_table.schema().findField(ROW_ID).fieldId()
    folder = java_table.locationProvider().newDataLocation(f"{ROW_ID}-deletes-{uuid.uuid4().hex}")
    # The id of the field identifies the column in the file.
    column = F.col(ROW_ID).alias(ROW_ID, metadata={_FIELD_ID: field})
    # Few files, because every read of the table opens all of them.
    few = ids.select(column).coalesce(1 + count // _IDS_PER_FILE)
    few.write.option(_NO_MARKER, "false").parquet(folder)
    delta = java_table.newRowDelta().toBranch(branch)
    for uri in session.read.schema(few.schema).parquet(folder).inputFiles():
        delta.addDeletes(
            _delete_file(session, java_table, f"{folder}/{uri.rpartition('/')[2]}", field)
        )
    for name, value in properties.items():
        delta.set(name, value)
    delta.commit()


def _delete_file(session: SparkSession, table: Any, path: str, field: int) -> Any:
    jvm: Any = session.sparkContext._jvm
    gateway: Any = session.sparkContext._gateway
    iceberg = jvm.org.apache.iceberg
    file = table.io().newInputFile(path)
    fields = gateway.new_array(jvm.int, 1)
    fields[0] = field
    metrics = iceberg.parquet.ParquetUtil.fileMetrics(file, iceberg.MetricsConfig.forTable(table))
    return (
        iceberg.FileMetadata.deleteFileBuilder(table.spec())
        .ofEqualityDeletes(fields)
        .withPath(path)
        .withFormat(iceberg.FileFormat.PARQUET)
        .withFileSizeInBytes(file.getLength())
        .withMetrics(metrics)
        .build()
    )


def iceberg_table(session: SparkSession, table: str) -> Any:
    """Load a table with Iceberg's Java API, as the session's catalog caches it. Its metadata can be
    read without a Spark job."""
    jvm: Any = session.sparkContext._jvm
    jsession: Any = session._jsparkSession
    return jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(jsession, table)
