"""Messages whose schemas a registry has, read by Confluent's own client and deserializer."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.message import Message as ProtobufMessage

from sidecar.encoding import Unregistered
from sidecar.schema_registry.client import RegistryClient
from sidecar.schema_registry.settings import registry_settings
from tests.oracle.reference.recordings import Scenario
from tests.support.avro.encodings import Encoding, in_both
from tests.support.avro.reading import Ids
from tests.support.avro.recordings import check
from tests.support.protobuf.compiler import message_class
from tests.support.protobuf.reading import plain


class RegisteredIds(Ids):
    """Schemas get their ids by our client; consumers get them from the registry by id."""

    def __init__(self, url: str) -> None:
        super().__init__()
        settings = {"schema.registry.url": url}
        self._client = RegistryClient(
            registry_settings("value.converter.", settings, "value", "PROTOBUF")
        )
        self._open = ExitStack()
        self._theirs = self._open.enter_context(SchemaRegistryClient({"url": url, "timeout": 60}))
        self._deserializers: dict[int, ProtobufDeserializer] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._client.close()
        self._open.close()

    def give(self, wanted: list[Unregistered]) -> None:
        for schema in wanted:
            subject = f"{schema.topic}-{schema.side}"
            self.ids.set(schema, self._client.schema_id(subject, schema.schema))

    def decoded(self, message: bytes) -> dict[str, Any]:
        number = int.from_bytes(message[1:5])
        if number not in self._deserializers:
            found = self._theirs.get_schema(number)
            assert found.schema_type == "PROTOBUF"
            conf = {"use.deprecated.format": False}
            made = message_class(found.schema_str or "")
            self._deserializers[number] = ProtobufDeserializer(made, conf)
        # The topic and the side do not matter where the id is in the message.
        context = SerializationContext("any", MessageField.VALUE)
        read = self._deserializers[number](message, context)
        assert isinstance(read, ProtobufMessage)
        fields = plain(read)
        assert isinstance(fields, dict)
        return fields


def check_types(
    url: str, scenario: Scenario, modes: Encoding, folder: Path, prefix: str = "a-b.c"
) -> None:
    with RegisteredIds(url) as ids:
        assert check(in_both(scenario, modes, ids, folder, prefix, "protobuf"), ids.both) > 0
