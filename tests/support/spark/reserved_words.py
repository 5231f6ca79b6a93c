"""Names of columns that Delta, Iceberg and Spark have for themselves, as their classes say."""

import contextlib

from pyspark.sql import SparkSession

LIBRARIES = (
    "org.apache.iceberg.MetadataColumns",
    "org.apache.spark.sql.catalyst.util.RowDeltaUtils",
    "org.apache.spark.sql.catalyst.analysis.RewriteMergeIntoTable",
    "org.apache.spark.sql.execution.datasources.FileFormat",
    "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat",
    "org.apache.spark.sql.delta.DeltaParquetFileFormat",
    "org.apache.spark.sql.delta.commands.cdc.CDCReader",
    "org.apache.spark.sql.delta.commands.MergeIntoCommandBase",
    "org.apache.spark.sql.delta.commands.DeletionVectorBitmapGenerator",
)
"""Classes with names of columns that formats and plans add."""


def reserved_words(spark: SparkSession) -> list[str]:
    """The names of columns in the constants of the libraries."""
    assert spark._jvm is not None
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    found: set[str] = set()
    for name in LIBRARIES:
        is_java = name.startswith("org.apache.iceberg")
        kind = loader.loadClass(name if is_java else f"{name}$")
        if is_java:
            fields = (field.get(None) for field in kind.getFields())
            found |= {field.name() for field in fields if hasattr(field, "fieldId")}
            continue
        module = kind.getField("MODULE$").get(None)
        for method in kind.getMethods():
            if method.getParameterCount() == 0 and method.getReturnType().getName().endswith(
                "lang.String"
            ):
                with contextlib.suppress(Exception):
                    found.add(getattr(module, method.getName())())
    return sorted(name for name in found if name and name.isidentifier())
