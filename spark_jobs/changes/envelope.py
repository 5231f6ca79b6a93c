"""Wraps the changes of a table in Debezium's envelope, as typed columns.

`docs/reference/change-events.md` describes the events.
"""

import json
import re
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from cdc_extension import __version__
from spark_jobs.changes.connect_schema import ConnectSchema, connect_schema
from spark_jobs.follow.plan import Position
from spark_jobs.reconcile.source_table import SourceTable

_NOT_AVRO = re.compile(r"[^A-Za-z0-9_]")
_SOURCE = "io.debezium.connector.cassandra.Source"
_BLOCK = "event.block"
_ENVELOPE_VERSION = 2
_TRANSACTION = "struct<id: string, total_order: bigint, data_collection_order: bigint>"
_TEXT, _LONG = ConnectSchema("string"), ConnectSchema("int64")
_REQUIRED_TEXT = ConnectSchema("string", is_optional=False)
_SOURCE_FIELDS = (
    ("version", _REQUIRED_TEXT),
    ("connector", _REQUIRED_TEXT),
    ("name", _REQUIRED_TEXT),
    ("ts_ms", ConnectSchema("int64", is_optional=False)),
    ("snapshot", _TEXT),
    ("db", _REQUIRED_TEXT),
    ("sequence", _TEXT),
    ("ts_us", _LONG),
    ("ts_ns", _LONG),
    ("keyspace", _REQUIRED_TEXT),
    ("table", _REQUIRED_TEXT),
)
_TRANSACTION_FIELDS = (
    ("id", _REQUIRED_TEXT),
    ("total_order", ConnectSchema("int64", is_optional=False)),
    ("data_collection_order", ConnectSchema("int64", is_optional=False)),
)


@dataclass(frozen=True, slots=True)
class PublishedTable:
    source: SourceTable
    prefix: str
    """`source.name`: the logical name of the cluster."""
    topic: str

    @property
    def schema_prefix(self) -> str:
        """The prefix of schema names, with only characters that Avro allows."""
        parts = (self.prefix, self.source.keyspace, self.source.name)
        return ".".join(avro_name(part) for part in parts if part)


def avro_name(text: str) -> str:
    """Replace each character that Avro does not allow in names with `_`."""
    parts = (_NOT_AVRO.sub("_", part) for part in text.split("."))
    return ".".join(f"_{part}" if not part or part[0].isdecimal() else part for part in parts)


def envelopes(
    changes: DataFrame,
    table: PublishedTable,
    position: Position,
    *,
    is_snapshot: bool,
    now_us: int,
) -> DataFrame:
    """Convert each change to `id`, `key`, `value`, `op`, `cause`, `ts_us` and ordering columns.

    `changes` has the columns of `spark_jobs.merge.Merger.changes`. `key` and `value` are structs.
    `seq` orders the changes of a row. `position` is the position after the changes. Ids derive
    from both, so they are the same when the changes are read again. In a snapshot, `op` is always
    `r`.
    """
    row = F.coalesce("after", "before")
    op = F.lit("r") if is_snapshot else F.col("op")
    source = _source(table, position, is_snapshot=is_snapshot)
    value = F.struct(
        "before",
        "after",
        source.alias("source"),
        F.lit(None).cast(_TRANSACTION).alias("transaction"),
        op.alias("op"),
        F.lit(now_us // 1000).cast("bigint").alias("ts_ms"),
        F.lit(now_us).cast("bigint").alias("ts_us"),
        F.lit(now_us * 1000).cast("bigint").alias("ts_ns"),
    )
    return changes.where(F.col("op").isNotNull()).select(
        "token",
        "cdc_row_id",
        "seq",
        change_id(table, position).alias("id"),
        F.struct(*(row.getField(name).alias(name) for name in table.source.key)).alias("key"),
        value.alias("value"),
        op.alias("op"),
        "cause",
        "ts_us",
    )


def key_schema(row: StructType, table: PublishedTable) -> ConnectSchema:
    """The schema of a key. `row` is the type of `after`."""
    key = StructType([row[name] for name in table.source.key])
    fields = connect_schema(key).fields
    return ConnectSchema("struct", f"{table.schema_prefix}.Key", is_optional=False, fields=fields)


def value_schema(row: StructType, table: PublishedTable) -> ConnectSchema:
    """The schema of a value. `row` is the type of `after`."""
    state = connect_schema(row, f"{table.schema_prefix}.Value")
    source = ConnectSchema("struct", _SOURCE, is_optional=False, fields=_SOURCE_FIELDS)
    block = ConnectSchema("struct", _BLOCK, 1, fields=_TRANSACTION_FIELDS)
    fields = (
        ("before", state),
        ("after", state),
        ("source", source),
        ("transaction", block),
        ("op", _REQUIRED_TEXT),
        ("ts_ms", _LONG),
        ("ts_us", _LONG),
        ("ts_ns", _LONG),
    )
    name = f"{table.schema_prefix}.Envelope"
    return ConnectSchema("struct", name, _ENVELOPE_VERSION, is_optional=False, fields=fields)


def _source(table: PublishedTable, position: Position, *, is_snapshot: bool) -> Column:
    place = json.dumps([str(position.store_version), str(position.second)])
    sequence = F.concat(F.lit(f'{place[:-1]}, "'), F.col("seq").cast("string"), F.lit('"]'))
    members = {
        "version": F.lit(__version__),
        "connector": F.lit("cassandra"),
        "name": F.lit(table.prefix),
        "ts_ms": F.expr("ts_us div 1000"),
        "snapshot": F.lit("true" if is_snapshot else "false"),
        "db": F.lit(table.source.keyspace),
        "sequence": sequence,
        "ts_us": F.col("ts_us"),
        "ts_ns": F.try_multiply(F.col("ts_us"), F.lit(1000)),
        "keyspace": F.lit(table.source.keyspace),
        "table": F.lit(table.source.name),
    }
    return F.struct(*(column.alias(name) for name, column in members.items()))


def change_id(table: PublishedTable, position: Position) -> Column:
    """16 bytes that are unique per change, and the same when the change is read again."""
    place = f"{table.source.id}/{position.store_version}/{position.second}/"
    number = F.concat(F.lit(place), F.col("seq").cast("string"), F.lit("/")).cast("binary")
    return F.unhex(F.md5(F.concat(number, F.col("cdc_row_id"))))
