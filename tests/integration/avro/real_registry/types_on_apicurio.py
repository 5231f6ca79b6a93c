"""What every type becomes, registered with a real registry by the agent's own client and read back
with the schemas that the registry has under the ids of the messages; `make registry`."""

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient, topic_subject_name_strategy
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integration.avro.real_registry.registered import RegisteredIds, meaning
from tests.oracle.reference.recordings import Scenario
from tests.support.avro.encodings import MODES, Encoding, cases, in_both
from tests.support.avro.reading import Message
from tests.support.avro.recordings import check, check_content
from tests.support.avro.tables import both, inserted, made_rows, named_rows
from tests.support.mongodb.encodings import AT_NS, LAYOUTS, TOPICS, encoder, events, registered
from tests.support.servers.apicurio import ApicurioRegistry

pytestmark = pytest.mark.servers

ONE_SEGMENT = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
_numbers = count()


def own_prefix() -> str:
    """Topics that no other test or example has."""
    return f"p{next(_numbers)}"


@pytest.mark.parametrize(("scenario", "modes"), cases({}, *MODES, all_events=()))
def test_every_type_is_read_by_fastavro_and_by_confluents_deserializer(
    registry: ApicurioRegistry,
    confluent: SchemaRegistryClient,
    scenario: Scenario,
    modes: Encoding,
    tmp_path: Path,
) -> None:
    ids, prefix = RegisteredIds(registry), own_prefix()
    theirs = AvroDeserializer(
        confluent, conf={"subject.name.strategy": topic_subject_name_strategy}
    )

    def by_theirs(message: Message) -> tuple[Any, Any]:
        key = SerializationContext(message.topic, MessageField.KEY)
        value = SerializationContext(message.topic, MessageField.VALUE)
        return theirs(message.key, key), theirs(message.value, value)

    for decode in (ids.both, by_theirs):
        assert check(in_both(scenario, modes, ids, tmp_path, prefix), decode) > 0
    for each in ids.schemas:
        number = ids.ids.get(each)
        assert number is not None
        assert meaning(registry.schema(number)) == meaning(each.schema)


@ONE_SEGMENT
@given(made_rows())
def test_made_values_of_every_type(
    registry: ApicurioRegistry,
    tmp_path: Path,
    made: tuple[str, dict[str, bytes], dict[str, Any]],
) -> None:
    ddl, written, modes = made
    given, path = RegisteredIds(registry), inserted(tmp_path, ddl, written)
    ids, avro, plain = both(path, ddl, given, topic_prefix=own_prefix(), **modes)
    check_content(ids.decoded(avro), plain)


@ONE_SEGMENT
@given(named_rows("ab_-1. é"), st.sampled_from(("avro", "avro_unicode")))
def test_columns_of_any_name(
    registry: ApicurioRegistry, tmp_path: Path, made: tuple[str, dict[str, bytes]], names: str
) -> None:
    ddl, values = made
    given, path = RegisteredIds(registry), inserted(tmp_path, ddl, values)
    ids, avro, _ = both(path, ddl, given, topic_prefix=own_prefix(), names=names)
    after = ids.decoded(avro)["after"]
    shown = [column["value"] for column in after.values() if column is not None]
    assert sorted(shown) == sorted([7, *range(len(values))])


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(ONE_SEGMENT, max_examples=10)
@given(given=events())
def test_events_of_mongodb(registry: ApicurioRegistry, layout: str, given: list[bytes]) -> None:
    prefix = own_prefix()
    topics = {name: topic.replace("L", prefix, 1) for name, topic in TOPICS.items()}
    choices = {"topic_prefix": prefix, "names": "avro", **topics}
    ids = RegisteredIds(registry)
    plain = encoder(layout, **choices).encode(given, at_ns=AT_NS)
    avro = registered(
        encoder(layout, **choices, key="avro", value="avro", schema_ids=ids.ids), ids, given
    )
    pairs = zip(avro.messages(0, len(avro)), plain.messages(0, len(plain)), strict=True)
    for (topic, key, value, _, _), (_, plain_key, plain_value, _, _) in pairs:
        assert ids.decoded(key) == json.loads(plain_key)
        if value is None or plain_value is None:
            assert value == plain_value
            continue
        found, expected = ids.value(value), json.loads(plain_value)
        if layout == "mongodb" and isinstance(found, str):
            found = json.loads(found)
        elif topic == topics["schema_topic"]:
            found["event"] = json.loads(found["event"])
        assert found == expected
