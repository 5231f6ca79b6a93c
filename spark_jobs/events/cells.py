"""`cells` of events (docs/reference/event-format.md §5) as native columns, exact.

Nothing here runs in Python. Deletions, liveness and cells are read in one form, so that one
`explode` gives all of them.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.faults import MARK

WRITTEN = (
    "STRUCT<col: STRING, path: STRING, key: STRING, ts: BIGINT, ttl: INT, ldt: BIGINT, val: STRING>"
)
"""A deletion, a liveness or a cell; bytes in base64."""
_REST = "_rest"
_AVRO_MAGIC = "\0"
CELLS = (
    "STRUCT<kind: STRING, id: STRING, pk: STRING, token: BIGINT, ck: STRING,"
    " ckv: ARRAY<STRING>, lo: STRING, hi: STRING,"
    f" live: {WRITTEN}, del: {WRITTEN}, cdel: ARRAY<{WRITTEN}>, cell: ARRAY<{WRITTEN}>>"
)
"""What is read of a value. Members that do not apply are null."""
NO_CELLS = "has no `cells`: reconcile needs events of agents with `event.cells=true`"
NO_EVENT = "is no event of this form"
IS_AVRO = "is no JSON but Avro: reconcile needs a topic whose agents have `value.converter=json`"
"""Say why a value is refused."""
ANY_OTHER = ""
"""In place of the id of a table."""


def read_cells(events: DataFrame, refused: Mapping[str, str] | None = None) -> DataFrame:
    """One row for each event that has a value, with the members of `cells` as columns.

    `events` has a column `value`, text or binary; of JSON that Connect's `JsonConverter` wrote with
    its schema, `payload` is read. The columns are `kind`, `table` (its id), `pk`,
    `token`, `ck`, `ckv`, `lo`, `hi` (binary) and `live`, `del`, `cdel`, `cell` as in the JSON,
    bytes in base64. Tombstones of Kafka, which have no value, are left out. A value that is no
    JSON, is of another form or has no `cells` is an error of the query: nothing that was written
    is passed over. So is an event of a table in `refused`, which says why by the table's id; the
    reason under `ANY_OTHER` is for tables that are not in it, and an empty one lets them pass.
    """
    text = F.col("value").cast("string")
    schema = f"cells {CELLS}, payload STRUCT<cells: {CELLS}>, {_REST} STRING"
    parsed = F.from_json(text, schema, {"columnNameOfCorruptRecord": _REST})
    cells = F.coalesce("event.cells", "event.payload.cells")
    why = (
        F.when(F.col("is_avro"), IS_AVRO)
        .when(F.col(f"event.{_REST}").isNotNull(), NO_EVENT)
        .when(cells.isNull(), NO_CELLS)
        .otherwise(_why_not(cells["id"], refused or {}))
    )
    message = F.concat(F.lit(MARK), F.col("place"), F.lit(" "), why, F.lit("."))
    taken = F.when(why.isNull(), cells).otherwise(F.raise_error(message).cast(CELLS))
    return (
        events.where(F.col("value").isNotNull())
        .select(
            _place(events, text).alias("place"),
            F.startswith(text, F.lit(_AVRO_MAGIC)).alias("is_avro"),
            parsed.alias("event"),
        )
        .select(taken.alias("cells"))
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
    """How a message names an event."""
    if {"topic", "partition", "offset"} <= set(events.columns):
        return F.concat(F.lit("The record "), F.concat_ws("/", "topic", "partition", "offset"))
    return F.concat(F.lit("The value "), F.substring(text, 1, 100))


def _bytes(name: str) -> Column:
    return F.unbase64(F.col("cells")[name]).alias(name)


def _why_not(table: Column, refused: Mapping[str, str]) -> Column:
    """Why events of a table are refused; null where they are not."""
    reasons = F.lit(refused.get(ANY_OTHER) or None).cast("string")
    for table_id, reason in refused.items():
        if table_id != ANY_OTHER:
            reasons = F.when(table == table_id, F.lit(reason or None)).otherwise(reasons)
    return reasons
