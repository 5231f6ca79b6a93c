"""Changes of documents from records of MongoDB's topics, one row each.

    collection  string   `database.collection`
    id          string   `_id` as extended JSON, as the message key has it
    position    struct   order of the changes of a document; compares as a whole
    state       string   `live`, `deleted`, or `unknown` if the event lacks the document
    document    string   the document as extended JSON; null unless `live`
    place       string   `topic/partition/offset` of the record

Kafka tombstones have no value and are skipped. Keys and values are JSON, with or without a schema
and payload.

The order is that of the oplog: the cluster time in the header `cdc.source`. No member of an event
replaces it. `source.ts_ms` is the wall clock of a primary, which an election can set back.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.error_mapping import record_error
from spark_jobs.mongo_reconcile.options import MongoOptions
from spark_jobs.source.events import header
from spark_jobs.source.json_values import UNREAD, json_value

POSITION = (
    "struct<seconds: bigint, increment: bigint, is_stream: boolean, step: bigint, "
    "topic_offset: bigint>"
)
UNTIMED = -1
"""`seconds` of a change without a cluster time, which is ordered by its place in the topic. Such a
change precedes all changes with one, as Debezium's events precede those of the agent after it."""
CHANGE_COLUMNS = ("collection", "id", "position", "state", "document", "place")
OPERATIONS = ("c", "u", "d", "r")

_ENVELOPE = """
    op: string, after: string,
    source: struct<db: string, collection: string>,
    transaction: struct<total_order: bigint>
"""
_VALUE = f"{_ENVELOPE}, payload: struct<{_ENVELOPE}>"
_KEY = "id: string, payload: struct<id: string>"
_ONLY_COLLECTIONS = "Read only topics of collections."
_DEFAULTS = MongoOptions()
# The end of `node id/replica set/seconds.increment/index`; a node id may contain slashes.
_CLUSTER_TIME = r"/(\d{1,10})\.(\d{1,10})/\d+$"


def changes(records: DataFrame, options: MongoOptions = _DEFAULTS) -> DataFrame:
    """Changes with `CHANGE_COLUMNS` from records of the Kafka source with their headers.

    A record that is not a change of a document fails the query with an `InputError` that names its
    place.
    """
    key = json_value(F.col("key").cast("string"), _KEY)
    value = json_value(F.col("value").cast("string"), _VALUE)
    event = F.col("_event")
    found = (
        records.where(F.col("value").isNotNull())
        .select(
            F.coalesce(key["payload"]["id"], key["id"]).alias("id"),
            _payload(value).alias("_event"),
            F.col("offset").alias("_offset"),
            header("cdc.source").cast("string").alias("_origin"),
            F.concat_ws("/", "topic", "partition", "offset").alias("place"),
            (_is_avro(F.col("key")) | _is_avro(F.col("value"))).alias("_is_avro"),
            F.coalesce(key[UNREAD], value[UNREAD]).isNotNull().alias("_is_unread"),
        )
        .withColumn("_error", _change_error(F.col("id"), event, F.col("place")))
    )
    source = event["source"]
    collection = F.concat_ws(".", source["db"], source["collection"])
    checked = F.when(F.col("_error").isNull(), collection)
    return found.select(
        checked.otherwise(F.raise_error(F.col("_error")).cast("string")).alias("collection"),
        "id",
        _position(event, options).cast(POSITION).alias("position"),
        _state(event).alias("state"),
        F.when(_state(event) == "live", event["after"]).alias("document"),
        "place",
    )


def _payload(value: Column) -> Column:
    """The envelope: the value itself, or its payload if it has a schema."""
    return F.when(value["payload"]["op"].isNotNull(), value["payload"]).otherwise(
        F.struct(*(value[name].alias(name) for name in ("op", "after", "source", "transaction")))
    )


def _position(event: Column, options: MongoOptions) -> Column:
    """Cluster time, then the order within it, then the offset in the topic."""
    offset, origin = F.col("_offset"), F.col("_origin")
    untimed = F.struct(F.lit(UNTIMED), F.lit(0), F.lit(False), F.lit(0), offset)
    if options.order_by == "topic":
        return untimed
    timed = F.struct(
        F.regexp_extract(origin, _CLUSTER_TIME, 1).try_cast("bigint"),
        F.regexp_extract(origin, _CLUSTER_TIME, 2).try_cast("bigint"),
        event["op"] != "r",
        F.coalesce(event["transaction"]["total_order"], F.lit(0)),
        offset,
    )
    has_time = F.coalesce(F.regexp_like(origin, F.lit(_CLUSTER_TIME)), F.lit(False))
    return F.when(has_time, timed.cast(POSITION)).otherwise(untimed.cast(POSITION))


def _state(event: Column) -> Column:
    return (
        F.when(event["op"] == "d", "deleted")
        .when(event["after"].isNull(), "unknown")
        .otherwise("live")
    )


def _is_avro(part: Column) -> Column:
    """Whether the first byte is zero, as before the schema id of Avro."""
    return F.coalesce(F.substring(part, 1, 1) == F.lit(bytearray(1)), F.lit(False))


def _change_error(identity: Column, event: Column, place: Column) -> Column:
    """The error text for a record that is not a change; null for a change."""
    source = event["source"]
    operation = F.coalesce(event["op"], F.lit("missing"))
    no_source = source["db"].isNull() | source["collection"].isNull()
    return (
        F.when(
            F.col("_is_avro"),
            record_error(
                place,
                " is Avro, but mongo_reconcile reads JSON. Use JSON converters for keys and "
                "values of this topic.",
            ),
        )
        .when(
            identity.isNull(),
            record_error(place, f" has no document `id` in its key. {_ONLY_COLLECTIONS}"),
        )
        .when(
            ~operation.isin(*OPERATIONS),
            record_error(
                place,
                " is not a change of a document: its `op` is ",
                operation,
                f", not one of {', '.join(OPERATIONS)}. {_ONLY_COLLECTIONS}",
            ),
        )
        .when(
            no_source,
            record_error(
                place,
                " lacks `db` or `collection` in its `source`. " + _ONLY_COLLECTIONS,
            ),
        )
        .when(
            F.col("_is_unread"),
            record_error(
                place,
                " has a key or a value with a member that is not JSON or has another type. "
                + _ONLY_COLLECTIONS,
            ),
        )
    )
