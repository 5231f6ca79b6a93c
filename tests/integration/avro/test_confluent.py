"""Confluent's registry client and deserializer in Python, as consumers use them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from confluent_kafka.schema_registry import (
    Schema,
    SchemaRegistryClient,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
    topic_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from sidecar.schema_registry.client import RegistryClient
from sidecar.schema_registry.settings import registry_settings
from tests.oracle.reference.recordings import Scenario
from tests.support.avro.encodings import MODES, Encoding, cases, in_both
from tests.support.avro.recordings import check
from tests.support.avro.registered import RegisteredIds, by_confluent
from tests.support.sinks.fake_registry import FakeRegistry

SCHEMA = json.dumps(
    {"type": "record", "name": "Key", "namespace": "a.b", "fields": [{"name": "k", "type": "int"}]}
)
TOPIC = "demo.ks.t"
VALUE = SerializationContext(TOPIC, MessageField.VALUE)


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with FakeRegistry() as registry:
        # Real ids start at 1.
        registry.schemas.append('"null"')
        yield registry


def ours(registry: FakeRegistry, settings: dict[str, Any]) -> RegistryClient:
    named = {name: str(value).lower() for name, value in settings.items()}
    url = {"schema.registry.url": registry.url}
    return RegistryClient(registry_settings("value.converter.", {**url, **named}, "value"))


def theirs(registry: FakeRegistry) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": registry.url})


@pytest.mark.parametrize(("scenario", "modes"), cases({}, *MODES, all_events=()))
def test_confluent_avro_deserializer_reads_every_type(
    registry: FakeRegistry, scenario: Scenario, modes: Encoding, tmp_path: Path
) -> None:
    ids = RegisteredIds(registry)
    assert check(in_both(scenario, modes, ids, tmp_path), by_confluent(theirs(registry))) > 0


@pytest.mark.parametrize(
    "settings",
    [
        {"auto.register.schemas": True},
        {"auto.register.schemas": True, "normalize.schemas": True},
        {"auto.register.schemas": False},
        {"auto.register.schemas": False, "normalize.schemas": True},
        {"auto.register.schemas": False, "use.latest.version": True},
    ],
    ids=lambda settings: " ".join(f"{name}={value}" for name, value in settings.items()),
)
def test_confluent_serializer_sends_equal_registry_requests(
    registry: FakeRegistry, settings: dict[str, Any]
) -> None:
    theirs(registry).register_schema(f"{TOPIC}-value", Schema(SCHEMA, "AVRO"))
    registry.requests.clear()
    conf = {"subject.name.strategy": topic_subject_name_strategy, **settings}
    serialized = AvroSerializer(theirs(registry), SCHEMA, conf=conf)({"k": 7}, VALUE)
    asked = [meaning(method, path) for method, path, _ in registry.requests]
    registry.requests.clear()
    number = ours(registry, settings).schema_id(f"{TOPIC}-value", SCHEMA)
    assert [meaning(method, path) for method, path, _ in registry.requests] == asked
    assert serialized is not None
    assert serialized[:5] == b"\0" + number.to_bytes(4)


def meaning(method: str, path: str) -> tuple[str, str, dict[str, str]]:
    """A request without disabled flags, which are the default."""
    parts = urlsplit(path)
    flags = {name: text.lower() for name, text in parse_qsl(parts.query)}
    return method, parts.path, {name: text for name, text in flags.items() if text != "false"}


def test_subject_names_equal_those_of_confluent(registry: FakeRegistry) -> None:
    strategies = {
        "TopicNameStrategy": topic_subject_name_strategy,
        "RecordNameStrategy": record_subject_name_strategy,
        "TopicRecordNameStrategy": topic_record_subject_name_strategy,
    }
    for name, strategy in strategies.items():
        url = {"schema.registry.url": registry.url, "value.subject.name.strategy": name}
        found = registry_settings("value.converter.", url, "value").strategy
        assert found.subject(TOPIC, "value", "a.b.Envelope") == strategy(VALUE, "a.b.Envelope")


def test_confluent_client_finds_a_registered_schema(registry: FakeRegistry) -> None:
    number = ours(registry, {}).schema_id("a/b c-value", SCHEMA)
    found = theirs(registry).lookup_schema("a/b c-value", Schema(SCHEMA, "AVRO"))
    assert (found.schema_id, found.version) == (number, 1)
    assert theirs(registry).get_schema(number).schema_str == SCHEMA
