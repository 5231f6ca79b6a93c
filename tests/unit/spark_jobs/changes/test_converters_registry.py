"""Schemas of changes in a registry."""

import json
from typing import Any

from confluent_kafka.schema_registry import SchemaRegistryClient, topic_subject_name_strategy
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from spark_jobs.changes.converters import encoding_of
from spark_jobs.changes.envelope import envelopes
from spark_jobs.changes.kafka_sink import in_order, messages
from spark_jobs.changes.options import ChangesJobOptions
from tests.support.sinks.fake_registry import FakeRegistry
from tests.support.spark.changes import (
    NOW_US,
    ORDERS,
    ORDERS_ROW,
    POSITION,
    Change,
    changes_frame,
    struct_of,
)
from tests.support.spark.options import options_of

KEY = [StructField("id", IntegerType()), StructField("seq", IntegerType())]
ROW = StructType([*KEY, StructField("note", StringType())])
LATER_ROW = StructType([*ROW, StructField("amount", IntegerType())])


def options_with(registry: FakeRegistry) -> ChangesJobOptions:
    return options_of(
        ChangesJobOptions,
        {
            "kafka.bootstrap.servers": "127.0.0.1:1",
            "checkpoint": "/c",
            "output": "/store",
            "schema.file": "/schema.cql",
            "topic.prefix": "c1",
            "converter": "avro",
            "converter.schema.registry.url": registry.url,
        },
    )


def test_each_schema_is_registered_once() -> None:
    with FakeRegistry() as registry:
        encoding = encoding_of(ORDERS, options_with(registry))
        assert encoding(ROW) is encoding(ROW)
        assert set(registry.subjects) == {"c1.shop.orders-key", "c1.shop.orders-value"}
        encoding(LATER_ROW)
    values = registry.subjects["c1.shop.orders-value"]
    assert [json.loads(schema)["connect.name"] for schema in values] == [
        "c1.shop.orders.Envelope"
    ] * 2
    assert len(registry.subjects["c1.shop.orders-key"]) == 1


def test_confluent_deserializer_reads_keys_and_values(spark: SparkSession) -> None:
    before, after = ({"id": 7, "seq": 3, "note": note} for note in ("a", None))
    changes = changes_frame(spark, [Change(before, after), Change(after, None, 1)], ORDERS_ROW)
    with FakeRegistry() as registry:
        # Real ids start at 1.
        registry.schemas.append('"null"')
        encoding = encoding_of(ORDERS, options_with(registry))(struct_of(changes, "after"))
        found = envelopes(changes, ORDERS, POSITION, is_snapshot=False, now_us=NOW_US)
        sent = in_order(messages(found, encoding.key, encoding.value, has_tombstones=True))
        conf = {"subject.name.strategy": topic_subject_name_strategy}
        read = AvroDeserializer(SchemaRegistryClient({"url": registry.url}), conf=conf)

        def parsed(data: bytearray | None, side: MessageField) -> Any:
            return read(data and bytes(data), SerializationContext(ORDERS.topic, side))

        rows = sent.collect()
        keys = [parsed(row["key"], MessageField.KEY) for row in rows]
        values = [parsed(row["value"], MessageField.VALUE) for row in rows]
    assert keys == [{"id": 7, "seq": 3}] * 3
    assert [value and (value["op"], value["before"], value["after"]) for value in values] == [
        ("u", before, after),
        ("d", after, None),
        None,
    ]
