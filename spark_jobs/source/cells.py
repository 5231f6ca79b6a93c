"""The member `cells` of events as text, with the columns that storage and lookup need.

The event format describes the member (`cells`). All expressions run natively. Only the table, the
token and the clustering are parsed here; `commitlog.merge` parses the rest when it merges events.
"""

from collections.abc import Collection, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.error_mapping import MESSAGE_PREFIX
from spark_jobs.source.counter_contexts import INVALID_CONTEXT, is_valid_context

_REST = "_rest"
_AVRO_MAGIC = "\0"
_BEGIN = '{"cells":{'
_CELLS = "STRUCT<id: STRING, token: BIGINT, ck: STRING>"
_CELLS_OF_COUNTERS = (
    "STRUCT<id: STRING, token: BIGINT, ck: STRING, cell: ARRAY<STRUCT<val: STRING>>>"
)
MISSING_CELLS = "has no `cells`. Set `event.cells=true` for the agents"
NOT_AN_EVENT = "is not an event of the supported format. Read only topics of the Cassandra agent"
IS_AVRO = "is Avro, but reconcile reads JSON. Set `value.converter=json` for the agents"
"""Reasons to reject a value."""
OTHER_TABLES = ""
"""The key for all other tables in a mapping by table id."""


def read_cells(
    events: DataFrame,
    rejected: Mapping[str, str] | None = None,
    counters: Collection[str] = (),
) -> DataFrame:
    """One row for each event with a value: `table` (its id), `token`, `ck` (binary) and `event`.

    `events` has a column `value`, text or binary. If Connect's `JsonConverter` wrote a schema, the
    event is the `payload`. `event` is a JSON object with the member `cells` alone. `ck` is null for
    static rows, partitions and ranges. Kafka tombstones have no value and are dropped.

    An invalid value fails the query, so no write is lost silently. `rejected` maps table ids to a
    reason to fail the query too. The reason of `OTHER_TABLES` applies to all tables that are not
    in the mapping. An empty reason accepts the table. `counters` are the ids of counter tables,
    whose contexts are verified.
    """
    text = F.col("value").cast("string")
    of_cells = _CELLS_OF_COUNTERS if counters else _CELLS
    schema = f"cells {of_cells}, payload STRUCT<cells: {of_cells}>, {_REST} STRING"
    parsed = F.from_json(text, schema, {"columnNameOfCorruptRecord": _REST})
    cells = F.coalesce("parsed.cells", "parsed.payload.cells")
    reason = (
        F.when(F.startswith("text", F.lit(_AVRO_MAGIC)), IS_AVRO)
        .when(F.col(f"parsed.{_REST}").isNotNull(), NOT_AN_EVENT)
        .when(cells.isNull(), MISSING_CELLS)
        .when(cells["id"].isNull() | cells["token"].isNull(), NOT_AN_EVENT)
        .otherwise(_rejection(cells["id"], rejected or {}))
    )
    if counters:
        reason = F.coalesce(reason, _invalid_counter(cells, counters))
    message = F.concat(F.lit(MESSAGE_PREFIX), F.col("place"), F.lit(" "), reason, F.lit("."))
    checked = F.when(reason.isNull(), cells).otherwise(F.raise_error(message).cast(of_cells))
    return (
        events.where(F.col("value").isNotNull())
        .select(_place(events, text).alias("place"), text.alias("text"), parsed.alias("parsed"))
        .select("text", "parsed", checked.alias("cells"))
        .select(
            F.col("cells.id").alias("table"),
            F.col("cells.token").alias("token"),
            F.unbase64("cells.ck").alias("ck"),
            _only_cells().alias("event"),
        )
    )


def _only_cells() -> Column:
    """The object with `cells` alone. `drop_replica_copies` leaves few values to be rewritten."""
    found = F.coalesce(
        F.get_json_object("text", "$.cells"), F.get_json_object("text", "$.payload.cells")
    )
    rewritten = F.concat(F.lit('{"cells":'), found, F.lit("}"))
    return F.when(F.startswith("text", F.lit(_BEGIN)), F.col("text")).otherwise(rewritten)


def _place(events: DataFrame, text: Column) -> Column:
    """The name of an event in error messages."""
    if {"topic", "partition", "offset"} <= set(events.columns):
        return F.concat(F.lit("The record "), F.concat_ws("/", "topic", "partition", "offset"))
    return F.concat(F.lit("The value "), F.substring(text, 1, 100))


def _rejection(table: Column, rejected: Mapping[str, str]) -> Column:
    """The reason to reject events of a table; null for an accepted table."""
    reasons = F.lit(rejected.get(OTHER_TABLES) or None).cast("string")
    for table_id, reason in rejected.items():
        if table_id != OTHER_TABLES:
            reasons = F.when(table == table_id, F.lit(reason or None)).otherwise(reasons)
    return reasons


def _invalid_counter(cells: Column, counters: Collection[str]) -> Column:
    """The reason to reject an event of a counter table; null for other events."""
    is_valid = F.forall(
        F.coalesce(cells["cell"], F.array()),
        lambda cell: cell["val"].isNull() | is_valid_context(F.unbase64(cell["val"])),
    )
    return F.when(cells["id"].isin(*counters) & ~is_valid, F.lit(INVALID_CONTEXT))
