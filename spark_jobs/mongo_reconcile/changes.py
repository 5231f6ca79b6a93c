"""Records of MongoDB's topics as changes of documents, one row each.

    collection  string   `database.collection`
    id          string   `_id` as extended JSON, as the message key has it
    position    struct   what makes a change the later one; compares as a whole
    state       string   `live`, `deleted`, or `unknown`: changed, but the event has no document
    document    string   the document as extended JSON; null unless `live`
    place       string   `topic/partition/offset` of the record

A tombstone, which follows a delete for log compaction and has no value, is no change. Keys and
values are JSON, with and without a schema beside the payload.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.faults import about_record
from spark_jobs.mongo_reconcile.options import MongoOptions

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
_VALUE = f"struct<{_ENVELOPE}, payload: struct<{_ENVELOPE}>>"
_DEFAULTS = MongoOptions()


def changes(records: DataFrame, options: MongoOptions = _DEFAULTS) -> DataFrame:
    """Records with key, value, topic, partition and offset as `CHANGE_COLUMNS`.

    A record that is no change of a document fails the query as an `InputError` with its place.
    """
    key = F.col("key").cast("string")
    value = F.from_json(F.col("value").cast("string"), _VALUE)
    place = F.concat_ws("/", "topic", "partition", "offset")
    identity = F.coalesce(F.get_json_object(key, "$.payload.id"), F.get_json_object(key, "$.id"))
    event = F.col("_event")
    found = (
        records.where(F.col("value").isNotNull())
        .select(
            identity.alias("id"),
            _payload(value).alias("_event"),
            F.col("offset").alias("_offset"),
            place.alias("place"),
            (_is_avro(F.col("key")) | _is_avro(F.col("value"))).alias("_is_avro"),
        )
        .withColumn("_fault", _fault(F.col("id"), event, F.col("place"), F.col("_is_avro")))
    )
    source = event["source"]
    collection = F.concat_ws(".", source["db"], source["collection"])
    checked = F.when(F.col("_fault").isNull(), collection)
    return found.select(
        checked.otherwise(F.raise_error(F.col("_fault")).cast("string")).alias("collection"),
        "id",
        _position(event, options).cast(POSITION).alias("position"),
        _state(event).alias("state"),
        F.when(_state(event) == "live", event["after"]).alias("document"),
        "place",
    )


def _payload(value: Column) -> Column:
    """The envelope, also out of one with a schema beside it."""
    return F.when(value["payload"]["op"].isNotNull(), value["payload"]).otherwise(
        F.struct(*(value[name].alias(name) for name in ("op", "after", "source", "transaction")))
    )


def _position(event: Column, options: MongoOptions) -> Column:
    """By the cluster's time, then by the order inside of it; the topic decides what is left."""
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
    """No JSON begins with the zero that stands in front of the id of a schema."""
    return F.coalesce(F.substring(part, 1, 1) == F.lit(bytearray(1)), F.lit(False))


def _fault(identity: Column, event: Column, place: Column, is_avro: Column) -> Column:
    """Why a record is no change, as a sentence; null when it is one."""
    source = event["source"]
    operation = F.coalesce(event["op"], F.lit("missing"))
    no_source = source["ts_ms"].isNull() | source["db"].isNull() | source["collection"].isNull()
    return (
        F.when(
            is_avro,
            about_record(
                place,
                " is Avro, and JSON is read here: let `key.converter` and `value.converter` of the "
                "agent be JSON for this topic.",
            ),
        )
        .when(identity.isNull(), about_record(place, " has no key with the `id` of a document."))
        .when(
            ~operation.isin(*OPERATIONS),
            about_record(
                place,
                " is no change of a document: its `op` is ",
                operation,
                f" and none of {', '.join(OPERATIONS)}. Name the topics of collections alone.",
            ),
        )
        .when(
            no_source,
            about_record(place, " has no `ts_ms`, `db` and `collection` in its `source`."),
        )
    )
