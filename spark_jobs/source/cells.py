"""The member `cells` of events as text, with the columns that storage and lookup need.

The event format describes the member (`cells`). `commitlog.merge` reads every value with the code
that later merges it, so a stored event can always be merged. That reader has no limits on the
length of texts, names and numbers, unlike Spark's JSON functions.
"""

from collections.abc import Callable, Collection, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from commitlog.merge import EventReader
from spark_jobs.errors import MESSAGE_PREFIX
from spark_jobs.source.events import record_place

_MOST = str((1 << 31) - 1)
_NO_LIMITS = {"maxStringLen": _MOST, "maxNumLen": _MOST, "maxNestingDepth": _MOST}
UNREAD = "_unread"
"""The member with the whole text if any part of it does not fit the schema; otherwise null."""
OTHER_TABLES = ""
"""The key for all other tables in a mapping by table id."""


def json_value(text: Column, members: str) -> Column:
    """A struct of these members, such as `id: string`, and of `UNREAD`.

    No other function parses JSON in Spark. Jackson rejects texts of 20 million characters, numbers
    of 1,000 digits and 1,000 levels. `get_json_object` then returns null, as for a missing member.

    A member that does not fit is null, as an absent one. Only `UNREAD` tells them apart, so every
    caller must check it.
    """
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
    """One row for each event with a value: `table` (its id), `token`, `ck` (binary) and `event`.

    `events` has a column `value`, text or binary. If Connect's `JsonConverter` wrote a schema, the
    event is the `payload`. `event` is a JSON object with the member `cells` alone. `ck` is null for
    static rows, partitions and ranges. Kafka tombstones have no value and are dropped.

    An invalid value fails the query, so no write is lost silently. `rejected` maps table ids to a
    reason to fail the query too. The reason of `OTHER_TABLES` applies to all tables that are not
    in the mapping. An empty reason accepts the table. `rejects` maps the table id and the place of
    an event to a further reason, or null. `counters` are the ids of counter tables,
    whose contexts are verified.

    With `keep_invalid` an invalid or rejected value stays. Its `table` is null, and the columns
    `place` and `error` have its name and the message.
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
    """The name of an event in error messages."""
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
