"""Extracts the changes of documents from the records of MongoDB topics.

    collection  string   `database.collection`
    id          string   `_id` as extended JSON, from the message key
    position    struct   order of the changes of a document; compared as a whole
    state       string   `live`, `deleted`, or `unknown` if the event has no document; `cleared`
                         for a drop or a rename, which removes all earlier documents of a collection
    document    string   the document as extended JSON; null unless `live`
    place       string   `topic/partition/offset` of the record

Each change is a row. A drop has the `id` `NO_ID`, and a rename becomes two such rows, one for each
name. Other events on collections (create, indexes) are skipped, as are Kafka tombstones, which have
no value. Keys and values are JSON, with or without a schema and payload.

The order follows the oplog: the cluster time in the header `cdc.source`. No member of an event can
replace it: `source.ts_ms` is the wall clock of a primary, which an election can set back.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.mongo_reconcile.options import MongoOptions
from spark_jobs.source.events import (
    RAW_COLUMNS,
    UNREAD,
    header,
    json_value,
    record_error,
    record_place,
)

POSITION = (
    "struct<seconds: bigint, increment: bigint, is_stream: boolean, step: bigint, "
    "topic_offset: bigint>"
)
UNTIMED = -1
"""`seconds` of a change without a cluster time, which is ordered by its place in the topic. It
precedes all changes with a cluster time, as Debezium's events precede the agent's later events."""
CHANGE_COLUMNS = ("collection", "id", "position", "state", "document", "place")
OPERATIONS = ("c", "u", "d", "r")
NO_ID = ""
"""The `id` of a row for a whole collection. No `_id` is an empty text."""
CLEARED = "cleared"

_ENVELOPE = """
    op: string, after: string, operation: string, event: string,
    source: struct<db: string, collection: string>,
    transaction: struct<total_order: bigint>
"""
_VALUE = f"{_ENVELOPE}, payload: struct<{_ENVELOPE}>"
_NAMES = "ns: struct<db: string, coll: string>, to: struct<db: string, coll: string>"
_KEY = "id: string, payload: struct<id: string>"
_ONLY_COLLECTIONS = "Read only topics of collections."
_DEFAULTS = MongoOptions()
# The end of `node id/replica set/seconds.increment/index`; a node id may contain slashes.
_CLUSTER_TIME = r"/(\d{1,10})\.(\d{1,10})/\d+$"


def changes(
    records: DataFrame, options: MongoOptions = _DEFAULTS, *, keep_invalid: bool = False
) -> DataFrame:
    """Convert records of the Kafka source, with their headers, to changes (`CHANGE_COLUMNS`).

    A record that is not a change of a document fails the query with an `InputError` that states its
    place. With `keep_invalid`, such a record is kept, with the reason in the column `error`. All
    rows then also contain `RAW_COLUMNS`.
    """
    key = json_value(F.col("key").cast("string"), _KEY)
    value = json_value(F.col("value").cast("string"), _VALUE)
    event = F.col("_event")
    found = (
        records.where(F.col("value").isNotNull())
        .select(
            F.coalesce(key["payload"]["id"], key["id"]).alias("id"),
            _payload(value).alias("_event"),
            *RAW_COLUMNS,
            header("cdc.source").cast("string").alias("_origin"),
            record_place().alias("place"),
            (_is_avro(F.col("key")) | _is_avro(F.col("value"))).alias("_is_avro"),
            F.coalesce(key[UNREAD], value[UNREAD]).isNotNull().alias("_is_unread"),
        )
        .withColumn("_about", json_value(event["event"], _NAMES))
        .withColumn("_is_ddl", _is_ddl(event, options))
        .withColumn("_error", _change_error(F.col("id"), event))
    )
    is_ddl, checked = F.col("_is_ddl"), F.when(F.col("_error").isNull(), _collections(event))
    kept = (*RAW_COLUMNS, F.col("_error").alias("error")) if keep_invalid else ()
    nothing = F.lit(None) if keep_invalid else F.raise_error(F.col("_error"))
    checked = checked.otherwise(F.array(nothing.cast("string")))
    state = (
        F.when(is_ddl, CLEARED)
        .when(event["op"] == "d", "deleted")
        .when(event["after"].isNull(), "unknown")
        .otherwise("live")
    )
    return found.select(
        F.explode(checked).alias("collection"),
        F.when(is_ddl, NO_ID).otherwise(F.col("id")).alias("id"),
        _position(event, options).cast(POSITION).alias("position"),
        state.alias("state"),
        F.when(state == "live", event["after"]).alias("document"),
        "place",
        *kept,
    )


def _is_ddl(event: Column, options: MongoOptions) -> Column:
    """Whether a record is a collection event, for which only cluster times define an order."""
    is_ordered = F.lit(options.order_by == "cluster-time")
    return is_ordered & event["op"].isNull() & event["operation"].isNotNull()


def _collections(event: Column) -> Column:
    """The names of the collections that a record affects."""
    source, about, operation = event["source"], F.col("_about"), event["operation"]
    names = [F.concat_ws(".", about[each]["db"], about[each]["coll"]) for each in ("ns", "to")]
    of_ddl = F.when(operation == "drop", F.array(names[0])).when(
        operation == "rename", F.array(*names)
    )
    of_document = F.array(F.concat_ws(".", source["db"], source["collection"]))
    nothing = F.array().cast("array<string>")
    return F.when(F.col("_is_ddl"), F.coalesce(of_ddl, nothing)).otherwise(of_document)


def _payload(value: Column) -> Column:
    """The envelope: the payload of a value with a schema, or else the value itself."""
    payload = value["payload"]
    names = ("op", "after", "operation", "event", "source", "transaction")
    return F.when(F.coalesce(payload["op"], payload["operation"]).isNotNull(), payload).otherwise(
        F.struct(*(value[name].alias(name) for name in names))
    )


def _position(event: Column, options: MongoOptions) -> Column:
    """Cluster time, then the order within it, then the offset in the topic."""
    offset, origin = F.col("offset"), F.col("_origin")
    untimed = F.struct(F.lit(UNTIMED), F.lit(0), F.lit(False), F.lit(0), offset)
    if options.order_by == "topic":
        return untimed
    timed = F.struct(
        F.regexp_extract(origin, _CLUSTER_TIME, 1).try_cast("bigint"),
        F.regexp_extract(origin, _CLUSTER_TIME, 2).try_cast("bigint"),
        F.coalesce(event["op"] != "r", F.lit(False)),
        # A snapshot at the time of a drop or a rename contains the documents after it.
        F.when(F.col("_is_ddl"), -1).otherwise(
            F.coalesce(event["transaction"]["total_order"], F.lit(0))
        ),
        offset,
    )
    has_time = F.coalesce(F.regexp_like(origin, F.lit(_CLUSTER_TIME)), F.lit(False))
    return F.when(has_time, timed.cast(POSITION)).otherwise(untimed.cast(POSITION))


def _is_avro(part: Column) -> Column:
    """Whether the first byte is zero, which precedes the schema id in Avro."""
    return F.coalesce(F.substring(part, 1, 1) == F.lit(bytearray(1)), F.lit(False))


def _change_error(identity: Column, event: Column) -> Column:
    """The error text for a record that is not a change; null for a change."""
    source, is_ddl = event["source"], F.col("_is_ddl")
    operation = F.coalesce(event["op"], F.lit("missing"))
    no_source = source["db"].isNull() | source["collection"].isNull()
    has_time = F.coalesce(F.regexp_like(F.col("_origin"), F.lit(_CLUSTER_TIME)), F.lit(False))
    return (
        F.when(
            F.col("_is_avro"),
            record_error(
                " is Avro, but mongo_reconcile reads JSON. Use JSON converters for keys and "
                "values of this topic.",
            ),
        )
        .when(
            identity.isNull(),
            record_error(f" has no document `id` in its key. {_ONLY_COLLECTIONS}"),
        )
        .when(
            is_ddl & ~has_time,
            record_error(" is a change of a collection without a cluster time."),
        )
        .when(
            ~is_ddl & ~operation.isin(*OPERATIONS),
            record_error(
                " is not a change of a document: its `op` is ",
                operation,
                f", not one of {', '.join(OPERATIONS)}. {_ONLY_COLLECTIONS}",
            ),
        )
        .when(
            ~is_ddl & no_source,
            record_error(
                " lacks `db` or `collection` in its `source`. " + _ONLY_COLLECTIONS,
            ),
        )
        .when(
            F.col("_is_unread") | (is_ddl & F.col("_about")[UNREAD].isNotNull()),
            record_error(
                " has a key or a value with a member that is not JSON or has another type. "
                + _ONLY_COLLECTIONS,
            ),
        )
    )
