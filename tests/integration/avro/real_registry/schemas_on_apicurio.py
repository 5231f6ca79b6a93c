"""What a real registry says of schemas: the same, another, one that is not compatible, and after
its restart; `make registry`."""

from pathlib import Path

import pytest
from confluent_kafka.schema_registry import (
    Schema,
    SchemaRegistryClient,
    topic_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

import commitlog
from sidecar.schema_registry.registrar import RegistrationStatus
from tests.integration.avro.real_registry.registered import RegisteredIds, meaning
from tests.support.avro.reading import Ids
from tests.support.avro.tables import DDL, both, inserted, modes_of
from tests.support.servers.apicurio import ApicurioRegistry

pytestmark = pytest.mark.servers

KINDS = "CREATE TYPE ks.u ({fields});\n"
NULL_BY_DEFAULT = ("a int", b"\0\0\0\1")


def schemas_of(folder: Path, topic_prefix: str, ddl: str, mode: str = "double") -> Ids:
    """Key and value of the only table, as the agent makes them."""
    column, value = NULL_BY_DEFAULT
    assert column in ddl
    values = {"a": value}
    return both(inserted(folder, ddl, values), ddl, topic_prefix=topic_prefix, **modes_of(mode))[0]


def value_of(ids: Ids) -> commitlog.Unregistered:
    (found,) = (each for each in ids.schemas if each.side == "value")
    return found


CHANGES = {
    "a column more": ("a int", "a int, b text"),
    "two columns and a collection more": ("a int", "a int, b text, c map<text, frozen<u>>, d inet"),
    "a column less": ("a int, b text", "a int"),
    "one more, one less": ("a int, b text", "a int, c frozen<list<int>>"),
    "a type that is used again": ("a int, b frozen<u>", "a int, b frozen<u>, c frozen<u>"),
}


@pytest.mark.parametrize(("before", "after"), CHANGES.values(), ids=CHANGES)
def test_columns_come_and_go(
    registry: ApicurioRegistry, tmp_path: Path, before: str, after: str
) -> None:
    prefix = "go-" + "".join(letter for letter in before + "-" + after if letter.isalpha())
    ids = RegisteredIds(registry)
    kinds = KINDS.format(fields="x int, y text")
    found = []
    for columns in (before, after):
        schemas = schemas_of(tmp_path, prefix, kinds + DDL.format(columns=columns)).schemas
        ids.give(schemas)
        found += [ids.ids.get(each) for each in schemas if each.side == "value"]
    assert found[0] != found[1]
    assert registry.versions(f"{prefix}.ks.t-value") == found
    assert len(registry.versions(f"{prefix}.ks.t-key")) == 1


def test_a_user_type_that_grows(registry: ApicurioRegistry, tmp_path: Path) -> None:
    ids, columns = RegisteredIds(registry), "a int, b frozen<u>, c frozen<list<frozen<u>>>"
    for fields in ("x int", "x int, y text", "x int, y text, z set<int>"):
        ddl = KINDS.format(fields=fields) + DDL.format(columns=columns)
        ids.give(schemas_of(tmp_path, "grows", ddl).schemas)
    assert len(registry.versions("grows.ks.t-value")) == 3


REFUSED = {
    "another type": ("a int, b int", "double", "a int, b text", "double"),
    "decimals by another mode": ("a int, b decimal", "double", "a int, b decimal", "precise"),
    "varints by another mode": ("a int, b varint", "double", "a int, b varint", "string"),
    "durations by another mode": ("a int, b duration", "double", "a int, b duration", "precise"),
    "an element of a list": ("a int, b list<int>", "double", "a int, b list<text>", "double"),
}


@pytest.mark.parametrize("change", REFUSED.values(), ids=REFUSED)
def test_rejects_until_configured_otherwise(
    registry: ApicurioRegistry, tmp_path: Path, change: tuple[str, str, str, str]
) -> None:
    before, mode, after, later_mode = change
    prefix = "no-" + "".join(letter for letter in before + after + later_mode if letter.isalpha())
    ids, subject = RegisteredIds(registry), f"{prefix}.ks.t-value"
    ids.give(schemas_of(tmp_path, prefix, DDL.format(columns=before), mode).schemas)
    (number,) = registry.versions(subject)
    later = value_of(schemas_of(tmp_path, prefix, DDL.format(columns=after), later_mode))
    answer = ids.ask([later])
    assert answer.status is RegistrationStatus.REJECTED
    said = f"the schema registry rejects the schema of {subject}: {registry.url} answers 409:"
    assert answer.error.startswith(said)
    assert ids.registrar.error == answer.error
    assert ids.ids.get(later) is None
    assert registry.versions(subject) == [number]

    registry.set_compatibility("NONE", subject)
    ids.give([later])
    assert registry.versions(subject) == [number, ids.ids.get(later)]
    assert ids.registrar.error == ""


def test_the_same_schema_has_the_same_id(
    registry: ApicurioRegistry, confluent: SchemaRegistryClient, tmp_path: Path
) -> None:
    """For another agent, for one that began anew, and for Confluent's client."""
    schemas = schemas_of(tmp_path, "same", DDL.format(columns="a int, b text")).schemas
    ids = [RegisteredIds(registry), RegisteredIds(registry)]
    for each in ids:
        each.give(schemas)
    for schema in schemas:
        subject = f"same.ks.t-{schema.side}"
        (number,) = registry.versions(subject)
        assert [each.ids.get(schema) for each in ids] == [number, number]
        assert confluent.register_schema(subject, Schema(schema.schema, "AVRO")) == number
        assert confluent.lookup_schema(subject, Schema(schema.schema, "AVRO")).schema_id == number
        known = confluent.get_schema(number).schema_str
        assert known is not None and meaning(known) == meaning(schema.schema)


@pytest.mark.parametrize(
    "settings",
    [
        {"auto.register.schemas": "false"},
        {"auto.register.schemas": "false", "use.latest.version": "true"},
        {"normalize.schemas": "true"},
    ],
    ids=lambda settings: " ".join(f"{name}={value}" for name, value in settings.items()),
)
def test_ways_of_registering(
    registry: ApicurioRegistry,
    confluent: SchemaRegistryClient,
    tmp_path: Path,
    settings: dict[str, str],
) -> None:
    """A schema that is there has its id, and the same as by Confluent's serializer."""
    prefix = "way-" + "".join(letter for letter in str(settings) if letter.isalpha())
    schemas = schemas_of(tmp_path, prefix, DDL.format(columns="a int, b text")).schemas
    asking = RegisteredIds(registry, settings)
    if "auto.register.schemas" in settings:
        answer = asking.ask(schemas)
        assert answer.status is RegistrationStatus.REJECTED
        assert f"{registry.url} answers 404" in answer.error
    RegisteredIds(registry).give(schemas)
    asking.give(schemas)
    (key,) = (each for each in schemas if each.side == "key")
    conf = {
        "subject.name.strategy": topic_subject_name_strategy,
        **{name: value == "true" for name, value in settings.items()},
    }
    serializer = AvroSerializer(confluent, key.schema, conf=conf)
    message = serializer({"k": 7}, SerializationContext(key.topic, MessageField.KEY))
    assert message is not None
    assert int.from_bytes(message[1:5], "big") == asking.ids.get(key)
    assert registry.versions(f"{prefix}.ks.t-key") == [asking.ids.get(key)]


def test_subjects_by_every_strategy(registry: ApicurioRegistry, tmp_path: Path) -> None:
    schemas = schemas_of(tmp_path, "named", DDL.format(columns="a int")).schemas
    for strategy in ("TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy"):
        RegisteredIds(registry, strategy=strategy).give(schemas)
    record = "io.debezium.connector.cassandra.named.ks.t"
    # Among a thousand subjects its list lacked these, so each is asked for.
    for subject in (
        "named.ks.t-key",
        "named.ks.t-value",
        f"{record}.Key",
        f"{record}.Envelope",
        f"named.ks.t-{record}.Key",
        f"named.ks.t-{record}.Envelope",
    ):
        assert len(registry.versions(subject)) == 1, subject


def test_ids_outlive_the_registry(tmp_path: Path) -> None:
    """It is killed, and started over its file: old ids are the same, new ones are others."""
    with ApicurioRegistry(tmp_path / "registry") as registry:
        ids = RegisteredIds(registry)
        before = schemas_of(tmp_path, "kept", DDL.format(columns="a int")).schemas
        ids.give(before)
        numbers = [ids.ids.get(each) for each in before]
        texts = [registry.schema(number) for number in numbers if number is not None]
        registry.kill()
        after = schemas_of(tmp_path, "kept", DDL.format(columns="a int, b int")).schemas
        lacking = [each for each in after if ids.ids.get(each) is None]
        answer = ids.ask(lacking)
        assert answer.status is RegistrationStatus.UNAVAILABLE
        assert "the schema registry is unavailable" in answer.error
        registry.start()
        assert [registry.schema(number) for number in numbers if number is not None] == texts
        again = RegisteredIds(registry)
        again.give(before)
        assert [again.ids.get(each) for each in before] == numbers
        ids.give(lacking)
        assert not {ids.ids.get(each) for each in lacking} & set(numbers)
        other = value_of(schemas_of(tmp_path, "kept", DDL.format(columns="a int, b text")))
        assert ids.ask([other]).status is RegistrationStatus.REJECTED, "BACKWARD is kept too"
