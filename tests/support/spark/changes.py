"""Changes of a table as `Merger.changes` returns them, made by hand."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from spark_jobs.changes.envelope import PublishedTable
from spark_jobs.follow.plan import Position
from spark_jobs.reconcile.source_table import SourceTable

_PLACE = ("5a1c395e-b41f-11e5-9f22-ba0be0483c18", "shop", "orders")
SOURCE = SourceTable(*_PLACE, ("id", "seq"), False, False, frozenset(["note"]), {})
ORDERS = PublishedTable(SOURCE, prefix="c1", topic="c1.shop.orders")
ORDERS_ROW = "id int, seq int, note string"
POSITION = Position(store_version=17, second=1_795_277_866)
NOW_US = 1_795_277_866_260_102

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """One row of the changes. `row_id` defaults to a hash of the key columns `id` and `seq`."""

    before: Row | None
    after: Row | None
    seq: int = 0
    cause: str = "write"
    ts_us: int = NOW_US
    op: str | None = ""
    """By default that of `before` and `after`."""

    def operation(self) -> str | None:
        if self.op != "":
            return self.op
        if self.before is None:
            return "c"
        return "u" if self.after is not None else "d"

    def row_id(self) -> bytes:
        row = self.after or self.before or {}
        return hashlib.md5(repr((row.get("id"), row.get("seq"))).encode()).digest()


def changes_frame(
    spark: SparkSession, changes: Iterable[Change], row: str = ORDERS_ROW
) -> DataFrame:
    """The changes of rows of the type `row` (DDL)."""
    schema = (
        "cdc_row_id binary, token bigint, ck binary, seq int, is_last boolean, existed boolean, "
        f"op string, cause string, ts_us bigint, before struct<{row}>, after struct<{row}>, "
        "next_expiry_s bigint, rejected string"
    )
    rows = [
        (
            change.row_id(),
            int.from_bytes(change.row_id()[:8], signed=True),
            change.row_id(),
            change.seq,
            False,
            change.before is not None,
            change.operation(),
            change.cause,
            change.ts_us,
            change.before,
            change.after,
            None,
            None,
        )
        for change in changes
    ]
    return spark.createDataFrame(rows, schema)


def struct_of(frame: DataFrame, column: str) -> StructType:
    """The type of a column that is a struct."""
    found = frame.schema[column].dataType
    assert isinstance(found, StructType)
    return found
