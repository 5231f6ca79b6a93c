"""Converts records to events: headers become columns, key and value stay unchanged.

    id         binary(16)  the event id, equal on every replica
    source     string      `node id/segment id/position/index`
    ts_us      bigint      largest write time, microseconds
    kind       string      `row`, `static`, `partition` or `range`
    key, value binary
    headers    array<struct<key: string, value: binary>>
    topic      string
    partition  int
    offset     bigint

Only the headers are decoded, so the cost does not depend on the size of an event.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from sidecar.logs import fields
from spark_jobs.delta_table import append_batch
from spark_jobs.errors import MESSAGE_PREFIX
from spark_jobs.merge import EventReader

logger = logging.getLogger(__name__)
RAW_COLUMNS = ("key", "value", "headers", "topic", "partition", "offset")
_SHOWN = 5
EVENT_COLUMNS = (
    *("id", "source", "ts_us", "kind", "key", "value"),
    *("headers", "topic", "partition", "offset"),
)
KINDS = ("row", "static", "partition", "range")
ID_BYTES = 16
# The positions that agents use. A header at another position takes a slower search.
_USUAL_POSITIONS = {"cdc.id": 0, "cdc.source": 1, "cdc.ts_us": 2, "cdc.kind": 3}
_MOST = str((1 << 31) - 1)
_NO_LIMITS = {"maxStringLen": _MOST, "maxNumLen": _MOST, "maxNestingDepth": _MOST}
UNREAD = "_unread"
"""A member that contains the whole text if any part does not fit the schema; otherwise null."""
OTHER_TABLES = ""
"""The key for all other tables in a mapping by table id."""


@dataclass(frozen=True, slots=True)
class InvalidRecords:
    """The Delta table at `path` with records that a job cannot use: Kafka's columns, and `error`
    with the place and the reason. Without a path, an invalid record fails the job. `app` identifies
    the checkpoint."""

    path: str | None = None
    app: str = ""

    def append(self, rows: DataFrame, batch: int) -> None:
        """Append rows with `RAW_COLUMNS` and `error`. A repeated micro-batch has no effect."""
        assert self.path is not None
        error = F.regexp_replace("error", f"^{MESSAGE_PREFIX}", "").alias("error")
        found = rows.select(*RAW_COLUMNS, error)
        shown = [row["error"] for row in found.select("error").limit(_SHOWN).collect()]
        if not shown:
            return
        append_batch(found, self.path, self.app, batch, mergeSchema="true")
        logger.warning(
            "records cannot be used; the job continues without them",
            extra=fields(batch=batch, records=shown, dead_letters=self.path),
        )


def events(records: DataFrame, *, keep_invalid: bool = False) -> DataFrame:
    """Convert records of the Kafka source to events with `EVENT_COLUMNS`.

    A record without the headers of an event fails the query with an `InputError` that states its
    place. The expression of `id` contains this check. With `keep_invalid`, the record is kept: its
    `id` and `kind` are null, and the column `error` contains the reason.
    """
    found = records.select(
        header("cdc.id").alias("id"),
        header("cdc.source").cast("string").alias("source"),
        header("cdc.ts_us").cast("string").try_cast("bigint").alias("ts_us"),
        header("cdc.kind").cast("string").alias("kind"),
        *EVENT_COLUMNS[4:],
    )
    identity, kind = F.col("id"), F.col("kind")
    error = _header_error(identity, kind, F.col("ts_us"))
    if keep_invalid:
        checked = F.when(error.isNull(), identity)
        kind = F.when(error.isNull(), kind)
        found = found.withColumn("error", error)
    else:
        checked = F.when(error.isNull(), identity).otherwise(F.raise_error(error).cast("binary"))
    return found.withColumns({"id": checked, "kind": kind})


def header(name: str) -> Column:
    """The value of an agent's header; null for a record without this header."""
    usual = F.get("headers", F.lit(_USUAL_POSITIONS[name]))
    # Not a filter: Spark cannot compile a filter with a lambda function.
    place = F.array_position(F.col("headers")["key"], F.lit(name)).cast("int")
    anywhere = F.get("headers", place - 1)
    return F.when(usual["key"] == F.lit(name), usual["value"]).otherwise(anywhere["value"])


def record_place() -> Column:
    """The place of a record: `topic/partition/offset`."""
    return F.concat_ws("/", "topic", "partition", "offset")


def record_error(*parts: str | Column) -> Column:
    """The message for an invalid record, with its place."""
    columns = [part if isinstance(part, Column) else F.lit(part) for part in parts]
    return F.concat(F.lit(f"{MESSAGE_PREFIX}The record "), record_place(), *columns)


def _header_error(identity: Column, kind: Column, ts_us: Column) -> Column:
    """The error text for a record that is not an event; null for an event."""
    time = header("cdc.ts_us").cast("string")
    return (
        F.when(
            identity.isNull(),
            record_error(
                " has no header `cdc.id`. Either no agent wrote it, or a tool after the agent "
                "removed the headers.",
            ),
        )
        .when(
            F.length(identity) != ID_BYTES,
            record_error(
                " has a header `cdc.id` of ",
                F.length(identity).cast("string"),
                f" bytes instead of {ID_BYTES}. This release does not support its envelope.",
            ),
        )
        .when(
            kind.isNull() | ~kind.isin(*KINDS),
            record_error(
                " has the header `cdc.kind` ",
                F.coalesce(kind, F.lit("missing")),
                f", not one of {', '.join(KINDS)}. This release does not support its envelope.",
            ),
        )
        .when(
            ts_us.isNull() & time.isNotNull(),
            record_error(
                " has the header `cdc.ts_us` ",
                time,
                ", not a time in microseconds. This release does not support its envelope.",
            ),
        )
    )


def json_value(text: Column, members: str) -> Column:
    """Parse JSON into a struct of these members, such as `id: string`, and of `UNREAD`.

    The jobs use no other JSON function of Spark. By default, Jackson rejects strings above 20
    million characters, numbers above 1,000 digits and nesting above 1,000 levels. Then
    `get_json_object` returns null, as if the member were missing.

    A member that does not fit is null, like a missing one. Only `UNREAD` tells them apart, so every
    caller must check it."""
    schema = f"struct<{members}, {UNREAD}: string>"
    return F.from_json(text, schema, {"columnNameOfCorruptRecord": UNREAD, **_NO_LIMITS})


def read_cells(
    events: DataFrame,
    rejected: Mapping[str, str] | None = None,
    counters: Collection[str] = (),
    rejects: Callable[[Column, Column], Column] | None = None,
    *,
    keep_invalid: bool = False,
) -> DataFrame:
    """Convert each event with a value to `table` (its id), `token`, `ck` (binary) and `event`.

    `spark_jobs.merge` reads every value with the code that later merges it, so a stored event can
    always be merged. That reader has no limits on the length of texts, names and numbers, unlike
    Spark's JSON functions.

    `events` has a column `value`, text or binary. If Connect's `JsonConverter` wrote a schema, the
    event is the `payload`. `event` is a JSON object with only the member `cells`. `ck` is null for
    static rows, partitions and ranges. Kafka tombstones have no value and are dropped.

    An invalid value fails the query, so no write is lost silently. `rejected` maps table ids to
    reasons for failing the query too. The reason of `OTHER_TABLES` applies to all tables that are
    not in the mapping. An empty reason accepts the table. `rejects` maps the table id and the place
    of an event to an additional reason, or null. `counters` contains the ids of counter tables
    whose contexts are verified.

    With `keep_invalid`, an invalid or rejected value is kept. Its `table` is null, and the columns
    `place` and `error` contain its place and the message.
    """
    reader = EventReader(counters)
    value = F.col("value").cast("binary")
    read = (
        events.where(F.col("value").isNotNull())
        .select(place_of(events).alias("place"), value.alias("value"))
        .mapInArrow(reader.read_all, from_arrow_schema(reader.schema))
    )
    further = F.lit(None) if rejects is None else rejects(F.col("table"), F.col("place"))
    reason = F.coalesce(F.col("error"), _rejection(F.col("table"), rejected or {}), further)
    message = F.concat(F.lit(MESSAGE_PREFIX), F.col("place"), F.lit(" "), reason, F.lit("."))
    table = F.when(reason.isNull(), F.col("table"))
    if keep_invalid:
        error = F.when(reason.isNotNull(), message).alias("error")
        return read.select(table.alias("table"), "token", "ck", "event", "place", error)
    table = table.otherwise(F.raise_error(message).cast("string"))
    return read.select(table.alias("table"), "token", "ck", "event")


def place_of(events: DataFrame) -> Column:
    """How error messages refer to an event: by its place, or by the start of its value."""
    if {"topic", "partition", "offset"} <= set(events.columns):
        return F.concat(F.lit("The record "), record_place())
    return F.concat(F.lit("The value "), F.substring(F.col("value").cast("string"), 1, 100))


def _rejection(table: Column, rejected: Mapping[str, str]) -> Column:
    """The reason to reject events of a table; null for an accepted table."""
    reasons = F.lit(rejected.get(OTHER_TABLES) or None).cast("string")
    for table_id, reason in rejected.items():
        if table_id != OTHER_TABLES:
            reasons = F.when(table == table_id, F.lit(reason or None)).otherwise(reasons)
    return reasons
