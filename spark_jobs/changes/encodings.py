"""The encoding of the messages of a table, by the options. Registers Avro schemas on the driver."""

from collections.abc import Callable
from functools import partial
from typing import Literal

from pyspark.sql.types import StructType

from sidecar.schema_registry.client import RegistryClient
from spark_jobs.changes.avro_converter import avro_bytes, avro_schema
from spark_jobs.changes.connect_schema import ConnectSchema
from spark_jobs.changes.envelope import PublishedTable, key_schema, value_schema
from spark_jobs.changes.json_converter import json_bytes
from spark_jobs.changes.kafka_sink import Encoding
from spark_jobs.changes.messages import ToBytes
from spark_jobs.changes.options import ChangeEventOptions

EncodingOf = Callable[[StructType], Encoding]
"""The encoding of rows of a type."""


def encoding_of(table: PublishedTable, options: ChangeEventOptions) -> EncodingOf:
    """The encoding of the keys and values of a table."""
    if options.converter == "avro":
        return AvroEncoding(table, options)
    return partial(_json_encoding, table, has_schemas=options.has_schemas)


def _json_encoding(table: PublishedTable, row: StructType, *, has_schemas: bool) -> Encoding:
    of_key, of_value = key_schema(row, table), value_schema(row, table)
    return Encoding(
        partial(json_bytes, schema=of_key if has_schemas else None),
        partial(json_bytes, schema=of_value if has_schemas else None),
    )


class AvroEncoding:
    """Avro with schemas of a registry. Each schema is registered once."""

    def __init__(self, table: PublishedTable, options: ChangeEventOptions) -> None:
        """Raises `ConfigError` for an unusable key or trust store."""
        self._table = table
        self._registries = {
            side: (RegistryClient(settings), settings.strategy)
            for side, settings in options.registries().items()
        }
        self._encodings: dict[str, Encoding] = {}

    def __call__(self, row: StructType) -> Encoding:
        """The encoding of rows of a type.

        Raises `UnavailableError`, `AccessDeniedError` or `SchemaRejectedError`.
        """
        known = row.json()
        if known not in self._encodings:
            key, value = key_schema(row, self._table), value_schema(row, self._table)
            self._encodings[known] = Encoding(
                self._registered("key", key), self._registered("value", value)
            )
        return self._encodings[known]

    def _registered(self, side: Literal["key", "value"], schema: ConnectSchema) -> ToBytes:
        client, strategy = self._registries[side]
        text = avro_schema(schema)
        assert schema.name is not None
        subject = strategy.subject(self._table.topic, side, schema.name)
        return partial(avro_bytes, schema=text, schema_id=client.schema_id(subject, text))
