"""Records as events: what the headers say, beside key and value untouched.

    id         binary(16)  the event id, equal on every replica
    source     string      `node id/segment id/position/index`
    ts_us      bigint      largest write time, microseconds
    kind       string      `row`, `static`, `partition` or `range`
    key, value binary
    headers    array<struct<key: string, value: binary>>
    topic      string
    partition  int
    offset     bigint

Only the headers are looked at, so this costs the same for large and small events.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.faults import about_record

EVENT_COLUMNS = (
    "id",
    "source",
    "ts_us",
    "kind",
    "key",
    "value",
    "headers",
    "topic",
    "partition",
    "offset",
)
KINDS = ("row", "static", "partition", "range")
ID_BYTES = 16

# Where an agent puts them; a header elsewhere is searched for, which takes longer.
_USUAL_PLACES = {"cdc.id": 0, "cdc.source": 1, "cdc.ts_us": 2, "cdc.kind": 3}


def events(records: DataFrame, *, keep_strangers: bool = False) -> DataFrame:
    """Records of the Kafka source as events, `EVENT_COLUMNS`.

    A record whose headers are not those of an event fails the query as an `InputError` that names
    its place (the check is part of `id`). With `keep_strangers` it stays, its `id` and `kind` null.
    """
    found = records.select(
        _header("cdc.id").alias("id"),
        _header("cdc.source").cast("string").alias("source"),
        _header("cdc.ts_us").cast("string").try_cast("bigint").alias("ts_us"),
        _header("cdc.kind").cast("string").alias("kind"),
        *EVENT_COLUMNS[4:],
    )
    identity, kind = F.col("id"), F.col("kind")
    fault = _fault(identity, kind)
    if keep_strangers:
        checked = F.when(fault.isNull(), identity)
        kind = F.when(fault.isNull(), kind)
    else:
        checked = F.when(fault.isNull(), identity).otherwise(F.raise_error(fault).cast("binary"))
    return found.withColumns({"id": checked, "kind": kind})


def _header(name: str) -> Column:
    usual = F.get("headers", F.lit(_USUAL_PLACES[name]))
    # Not a filter: with a function in it Spark interprets what it else compiles.
    place = F.array_position(F.col("headers")["key"], F.lit(name)).cast("int")
    anywhere = F.get("headers", place - 1)
    return F.when(usual["key"] == F.lit(name), usual["value"]).otherwise(anywhere["value"])


def _fault(identity: Column, kind: Column) -> Column:
    """Why a record is no event, as a sentence; null when it is one."""
    place = F.concat_ws("/", "topic", "partition", "offset")
    return (
        F.when(
            identity.isNull(),
            about_record(
                place,
                " has no header `cdc.id`: it was not written by an agent, or by one that stands "
                "behind something that drops headers.",
            ),
        )
        .when(
            F.length(identity) != ID_BYTES,
            about_record(
                place,
                " has a header `cdc.id` of ",
                F.length(identity).cast("string"),
                f" bytes instead of {ID_BYTES}: this release does not know its envelope.",
            ),
        )
        .when(
            kind.isNull() | ~kind.isin(*KINDS),
            about_record(
                place,
                " has the header `cdc.kind` ",
                F.coalesce(kind, F.lit("missing")),
                f" and none of {', '.join(KINDS)}: this release does not know its envelope.",
            ),
        )
    )
