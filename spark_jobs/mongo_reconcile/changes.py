"""Changes of documents from records of MongoDB's topics, one row each.

    collection  string   `database.collection`
    id          string   `_id` as extended JSON, as the message key has it
    position    struct   order of the changes of a document; compares as a whole
    state       string   `live`, `deleted`, or `unknown` if the event lacks the document
    document    string   the document as extended JSON; null unless `live`
    place       string   `topic/partition/offset` of the record

Kafka tombstones have no value and are skipped. Keys and values are JSON, with or without a schema
and payload.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.error_mapping import record_error
from spark_jobs.mongo_reconcile.options import MongoOptions
from spark_jobs.source.json_values import UNREAD, json_value

POSITION = (
    "struct<cluster_ms: bigint, ord: int, is_stream: boolean, step: bigint, topic_offset: bigint>"
)
CHANGE_COLUMNS = ("collection", "id", "position", "state", "document", "place")
OPERATIONS = ("c", "u", "d", "r")

_ENVELOPE = """
    op: string, after: string,
    source: struct<ts_ms: bigint, ord: int, snapshot: string, db: string, collection: string>,
    transaction: struct<total_order: bigint>
"""
_VALUE = f"{_ENVELOPE}, payload: struct<{_ENVELOPE}>"
_KEY = "id: string, payload: struct<id: string>"
_ONLY_COLLECTIONS = "Read only topics of collections."
_DEFAULTS = MongoOptions()


def changes(records: DataFrame, options: MongoOptions = _DEFAULTS) -> DataFrame:
    """Changes with `CHANGE_COLUMNS` from records with key, value, topic, partition and offset.

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
    offset = F.col("_offset")
    if options.order_by == "topic":
        return F.struct(F.lit(0), F.lit(0), F.lit(False), F.lit(0), offset)
    source = event["source"]
    is_stream = event["op"] != "r"
    margin_ms = F.when(is_stream, 0).otherwise(options.snapshot_margin_ms)
    return F.struct(
        source["ts_ms"] - margin_ms,
        F.coalesce(source["ord"], F.lit(0)),
        is_stream,
        F.coalesce(event["transaction"]["total_order"], F.lit(0)),
        offset,
    )


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
    no_source = source["ts_ms"].isNull() | source["db"].isNull() | source["collection"].isNull()
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
                " lacks `ts_ms`, `db` or `collection` in its `source`. " + _ONLY_COLLECTIONS,
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
