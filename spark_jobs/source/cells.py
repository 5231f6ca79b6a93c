"""The member `cells` of events as native columns, with exact numbers and binary bytes.

The event format describes the member (`cells`). All expressions run natively. Deletions, liveness
and cells share one struct, so one `explode` returns all of them.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.error_mapping import MESSAGE_PREFIX

WRITTEN = (
    "STRUCT<col: STRING, path: STRING, key: STRING, ts: BIGINT, ttl: INT, ldt: BIGINT, val: STRING>"
)
"""A deletion, a liveness or a cell. Bytes are in base64."""
_REST = "_rest"
_AVRO_MAGIC = "\0"
CELLS = (
    "STRUCT<kind: STRING, id: STRING, pk: STRING, token: BIGINT, ck: STRING,"
    " ckv: ARRAY<STRING>, lo: STRING, hi: STRING,"
    f" live: {WRITTEN}, del: {WRITTEN}, cdel: ARRAY<{WRITTEN}>, cell: ARRAY<{WRITTEN}>>"
)
"""The parsed part of a value. Members that do not apply are null."""
MISSING_CELLS = "has no `cells`. Set `event.cells=true` for the agents"
NOT_AN_EVENT = "is not an event of the supported format. Read only topics of the Cassandra agent"
IS_AVRO = "is Avro, but reconcile reads JSON. Set `value.converter=json` for the agents"
"""Reasons to reject a value."""
OTHER_TABLES = ""
"""The key for all other tables in a mapping by table id."""


def read_cells(events: DataFrame, rejected: Mapping[str, str] | None = None) -> DataFrame:
    """One row for each event with a value, with the members of `cells` as columns.

    `events` has a column `value`, text or binary. If Connect's `JsonConverter` wrote a schema, the
    event is the `payload`. The columns are `kind`, `table` (its id), `pk`, `token`, `ck`, `ckv`,
    `lo`, `hi` (binary), and `live`, `del`, `cdel`, `cell` as in the JSON, with bytes in base64.
    Kafka tombstones have no value and are dropped.

    An invalid value fails the query, so no write is lost silently. `rejected` maps table ids to a
    reason to fail the query too. The reason of `OTHER_TABLES` applies to all tables that are not
    in the mapping. An empty reason accepts the table.
    """
    text = F.col("value").cast("string")
    schema = f"cells {CELLS}, payload STRUCT<cells: {CELLS}>, {_REST} STRING"
    parsed = F.from_json(text, schema, {"columnNameOfCorruptRecord": _REST})
    cells = F.coalesce("event.cells", "event.payload.cells")
    reason = (
        F.when(F.col("is_avro"), IS_AVRO)
        .when(F.col(f"event.{_REST}").isNotNull(), NOT_AN_EVENT)
        .when(cells.isNull(), MISSING_CELLS)
        .otherwise(_rejection(cells["id"], rejected or {}))
    )
    message = F.concat(F.lit(MESSAGE_PREFIX), F.col("place"), F.lit(" "), reason, F.lit("."))
    accepted = F.when(reason.isNull(), cells).otherwise(F.raise_error(message).cast(CELLS))
    return (
        events.where(F.col("value").isNotNull())
        .select(
            _place(events, text).alias("place"),
            F.startswith(text, F.lit(_AVRO_MAGIC)).alias("is_avro"),
            parsed.alias("event"),
        )
        .select(accepted.alias("cells"))
        .select(
            F.col("cells.kind").alias("kind"),
            F.col("cells.id").alias("table"),
            _bytes("pk"),
            F.col("cells.token").alias("token"),
            _bytes("ck"),
            F.transform("cells.ckv", F.unbase64).alias("ckv"),
            _bytes("lo"),
            _bytes("hi"),
            "cells.live",
            "cells.del",
            "cells.cdel",
            "cells.cell",
        )
    )


def _place(events: DataFrame, text: Column) -> Column:
    """The name of an event in error messages."""
    if {"topic", "partition", "offset"} <= set(events.columns):
        return F.concat(F.lit("The record "), F.concat_ws("/", "topic", "partition", "offset"))
    return F.concat(F.lit("The value "), F.substring(text, 1, 100))


def _bytes(name: str) -> Column:
    return F.unbase64(F.col("cells")[name]).alias(name)


def _rejection(table: Column, rejected: Mapping[str, str]) -> Column:
    """The reason to reject events of a table; null for an accepted table."""
    reasons = F.lit(rejected.get(OTHER_TABLES) or None).cast("string")
    for table_id, reason in rejected.items():
        if table_id != OTHER_TABLES:
            reasons = F.when(table == table_id, F.lit(reason or None)).otherwise(reasons)
    return reasons
