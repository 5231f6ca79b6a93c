"""Ids that a registry gives to the agent's own client, and schemas that it has under them."""

import json
from collections.abc import Mapping
from typing import Any, Literal

import fastavro
from confluent_kafka.schema_registry import SchemaRegistryClient, topic_subject_name_strategy
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from sidecar.encoding import Unregistered
from sidecar.schema_registry.registrar import Registration, RegistrationStatus, create_registrar
from sidecar.schema_registry.settings import registry_settings
from tests.support.avro.live import Registry
from tests.support.avro.reading import Ids, Message
from tests.support.avro.recordings import Decode

SIDES: tuple[Literal["key"], Literal["value"]] = ("key", "value")


class RegisteredIds(Ids):
    """As `Ids`, from a registry. `settings` are those of both converters, `strategy` names the
    subjects of both."""

    def __init__(
        self,
        registry: Registry,
        settings: Mapping[str, str] | None = None,
        strategy: str = "TopicNameStrategy",
    ) -> None:
        super().__init__()
        named = {"schema.registry.url": registry.url, **(settings or {})}
        self._registry = registry
        self.registrar = create_registrar(
            self.ids,
            lambda: {
                side: registry_settings(
                    f"{side}.converter.", {**named, f"{side}.subject.name.strategy": strategy}, side
                )
                for side in SIDES
            },
        )

    def ask(self, wanted: list[Unregistered]) -> Registration:
        """The registry's answer, whatever it is."""
        return self.registrar.register(wanted)

    def give(self, wanted: list[Unregistered]) -> None:
        assert wanted
        answer = self.ask(wanted)
        assert answer.status is RegistrationStatus.REGISTERED, answer.error
        self.schemas += wanted

    def schema(self, number: int) -> str:
        return self._registry.schema(number)


def meaning(schema: str) -> Any:
    """A schema with every name in full, all else as it is: Apicurio leaves out a namespace that
    holds anyway."""
    return fastavro.parse_schema(json.loads(schema))


def by_confluent(client: SchemaRegistryClient) -> Decode:
    """Confluent's deserializer, which asks the registry for the schema behind an id."""
    conf = {"subject.name.strategy": topic_subject_name_strategy}
    deserializer = AvroDeserializer(client, conf=conf)

    def read(message: Message) -> tuple[Any, Any]:
        key = SerializationContext(message.topic, MessageField.KEY)
        value = SerializationContext(message.topic, MessageField.VALUE)
        return deserializer(message.key, key), deserializer(message.value, value)

    return read
