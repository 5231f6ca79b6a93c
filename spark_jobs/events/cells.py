"""`cells` of events (docs/event-format.md §5) as native columns: exact numbers, bytes as binary.

Nothing here runs in Python. Deletions, liveness and cells are read in one form, so that one
`explode` gives all of them.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.faults import MARK

_WRITTEN = "STRUCT<col: STRING, path: STRING, ts: BIGINT, ttl: INT, ldt: BIGINT, val: STRING>"
_REST = "_rest"
CELLS = (
    "STRUCT<kind: STRING, id: STRING, pk: STRING, token: BIGINT, ck: STRING,"
    " ckv: ARRAY<STRING>, lo: STRING, hi: STRING,"
    f" live: {_WRITTEN}, del: {_WRITTEN}, cdel: ARRAY<{_WRITTEN}>, cell: ARRAY<{_WRITTEN}>>"
)
"""What is read of a value. Members that do not apply are null."""
NO_CELLS = "has no `cells`: reconcile needs events of agents with `event.cells=true`"
NO_EVENT = "is no event of this form"
"""Say why a value is refused."""


def read_cells(events: DataFrame) -> DataFrame:
    """One row for each event that has a value, with the members of `cells` as columns.

    `events` has a column `value`, text or binary. The columns are `kind`, `table` (its id), `pk`,
    `token`, `ck`, `ckv`, `lo`, `hi` (binary) and `live`, `del`, `cdel`, `cell` as in the JSON,
    bytes in base64. Tombstones of Kafka, which have no value, are left out. A value that is no
    JSON, is of another form or has no `cells` is an error of the query: nothing that was written
    is passed over.
    """
    text = F.col("value").cast("string")
    schema = f"cells {CELLS}, {_REST} STRING"
    parsed = F.from_json(text, schema, {"columnNameOfCorruptRecord": _REST})
    value, rest = F.col("event.cells"), F.col(f"event.{_REST}")
    place = _place(events, text)
    cells = F.when(rest.isNotNull(), _refused(NO_EVENT)).otherwise(
        F.coalesce(value, _refused(NO_CELLS))
    )
    return (
        events.where(F.col("value").isNotNull())
        .select(place.alias("place"), parsed.alias("event"))
        .select(cells.alias("cells"))
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


def _refused(why: str) -> Column:
    message = F.concat(F.lit(MARK), F.col("place"), F.lit(f" {why}."))
    return F.raise_error(message).cast(CELLS)
