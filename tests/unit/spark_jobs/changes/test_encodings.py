"""Schemas of changes in a registry."""

import json

from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from spark_jobs.changes.encodings import encoding_of
from spark_jobs.changes.options import ChangesJobOptions
from tests.support.fake_registry import FakeRegistry
from tests.support.spark.changes import ORDERS
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
