"""Our client and schemas with two real third-party schema registries; `make registry`.

Apicurio stores schemas in a file; Cloudera's registry stores them in memory.
"""

import base64
import io
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import fastavro
import pytest
from confluent_kafka.schema_registry import (
    Schema,
    SchemaRegistryClient,
    topic_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationContext
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.errors import UnavailableError
from sidecar.schema_registry.client import RegistryClient, SchemaRejectedError
from sidecar.schema_registry.registrar import RegistrationStatus
from sidecar.schema_registry.settings import registry_settings
from tests.oracle.reference.recordings import Scenario
from tests.support.avro.changes import CHANGE_NAMES, CHANGES, schemas_of
from tests.support.avro.encodings import MODES, Encoding, cases, in_both
from tests.support.avro.live import AvroAgent
from tests.support.avro.recordings import check, check_content
from tests.support.avro.registered import RegisteredIds, by_confluent, meaning
from tests.support.avro.tables import (
    DDL,
    ONE_SEGMENT,
    both,
    grown_tables,
    inserted,
    made_rows,
    modes_of,
    named_rows,
)
from tests.support.mongodb.encodings import AT_NS, LAYOUTS, TOPICS, encoder, events, registered
from tests.support.servers.apicurio import ApicurioRegistry
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.schema_registry import SchemaRegistryServer

pytestmark = pytest.mark.servers

Registry = ApicurioRegistry | SchemaRegistryServer
ANSWER_S = 60.0
SCHEMA = json.dumps(
    {"type": "record", "name": "Key", "namespace": "a.b", "fields": [{"name": "k", "type": "int"}]}
)
LOOK_UP = {"auto.register.schemas": "false"}
LATEST = {**LOOK_UP, "use.latest.version": "true"}
NUMBERS = count()
FEW = settings(ONE_SEGMENT, max_examples=40, derandomize=True)


@pytest.fixture(
    scope="module", params=[ApicurioRegistry, SchemaRegistryServer], ids=["apicurio", "cloudera"]
)
def registry(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Registry]:
    with request.param(tmp_path_factory.mktemp("registry")) as started:
        yield started


@pytest.fixture
def confluent(registry: Registry) -> Iterator[SchemaRegistryClient]:
    """Confluent's client."""
    # Without a timeout the client would wait forever.
    with SchemaRegistryClient({"url": registry.url, "timeout": ANSWER_S}) as client:
        yield client


def fresh() -> str:
    """Topic prefix that no other test or example uses, because BACKWARD applies to a subject."""
    return f"t{next(NUMBERS)}"


@pytest.fixture
def subject() -> str:
    return f"{fresh()}-value"


def client(registry: Registry, **named: str) -> RegistryClient:
    url = {"schema.registry.url": registry.url}
    return RegistryClient(registry_settings("value.converter.", {**url, **named}, "value"))


def is_cloudera(registry: Registry) -> bool:
    return isinstance(registry, SchemaRegistryServer)


@pytest.mark.parametrize(("scenario", "modes"), cases({}, *MODES, all_events=()))
def test_fastavro_and_confluent_read_every_registered_type(
    registry: Registry,
    confluent: SchemaRegistryClient,
    scenario: Scenario,
    modes: Encoding,
    tmp_path: Path,
) -> None:
    ids, prefix = RegisteredIds(registry), fresh()
    for decode in (ids.both, by_confluent(confluent)):
        assert check(in_both(scenario, modes, ids, tmp_path, prefix), decode) > 0
    for each in ids.schemas:
        number = ids.ids.get(each)
        assert number is not None
        assert meaning(registry.schema(number)) == meaning(each.schema)


@FEW
@given(made_rows())
def test_generated_values_of_every_type_are_registered(
    registry: Registry, tmp_path: Path, made: tuple[str, dict[str, bytes], dict[str, Any]]
) -> None:
    ddl, written, modes = made
    given, path = RegisteredIds(registry), inserted(tmp_path, ddl, written)
    ids, avro, plain = both(path, ddl, given, topic_prefix=fresh(), **modes)
    check_content(ids.decoded(avro), plain)


@FEW
@given(named_rows("ab_-1. é"), st.sampled_from(("avro", "avro_unicode")))
def test_columns_of_any_name_are_registered(
    registry: Registry, tmp_path: Path, made: tuple[str, dict[str, bytes]], names: str
) -> None:
    ddl, values = made
    given, path = RegisteredIds(registry), inserted(tmp_path, ddl, values)
    ids, avro, _ = both(path, ddl, given, topic_prefix=fresh(), names=names)
    after = ids.decoded(avro)["after"]
    shown = [column["value"] for column in after.values() if column is not None]
    assert sorted(shown) == sorted([7, *range(len(values))])


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(FEW, max_examples=10)
@given(given=events())
def test_mongodb_avro_events_equal_json(
    registry: Registry, layout: str, given: list[bytes]
) -> None:
    prefix = fresh()
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


@pytest.mark.parametrize(("before", "after", "value"), CHANGES, ids=CHANGE_NAMES)
def test_schema_of_altered_table_is_backward_compatible(
    registry: Registry, subject: str, tmp_path: Path, before: str, after: str, value: bytes
) -> None:
    """The schema of the later id also reads earlier messages."""
    old, message = schemas_of(tmp_path, before, value)
    new, _ = schemas_of(tmp_path, after, value)
    numbers = [client(registry).schema_id(subject, schema) for schema in (old, new)]
    assert registry.versions(subject) == numbers
    assert numbers[0] != numbers[1]
    writer, reader = (
        fastavro.parse_schema(json.loads(registry.schema(number))) for number in numbers
    )
    found, known = (
        fastavro.schemaless_reader(io.BytesIO(message), writer, by) for by in (reader, None)
    )
    assert isinstance(found, dict)
    assert isinstance(known, dict)
    assert found["cells"] == known["cells"]
    now, was = found["after"]["a"]["value"], known["after"]["a"]["value"]
    # Fields added to a user type have no values in earlier messages.
    assert now == (now | was if isinstance(now, dict) else was)


@FEW
@given(tables=grown_tables())
def test_registry_accepts_added_and_dropped_columns(
    registry: Registry, tmp_path: Path, tables: tuple[str, str]
) -> None:
    schemas = [both(inserted(tmp_path, ddl, {}), ddl)[0].schemas[-1].schema for ddl in tables]
    for order in (schemas, schemas[::-1]):
        subject = f"{fresh()}-value"
        numbers = [client(registry).schema_id(subject, schema) for schema in (*order, *order)]
        assert numbers[:2] == numbers[2:]
        found = [meaning(registry.schema(number)) for number in numbers[:2]]
        assert found == [meaning(schema) for schema in order]


REJECTED = {
    "another type": ("a int, b int", "double", "a int, b text", "double"),
    "decimals by another mode": ("a int, b decimal", "double", "a int, b decimal", "precise"),
    "exact decimals by another mode": ("a int, b decimal", "precise", "a int, b decimal", "double"),
    "varints by another mode": ("a int, b varint", "double", "a int, b varint", "string"),
    "durations by another mode": ("a int, b duration", "double", "a int, b duration", "precise"),
    "an element of a list": ("a int, b list<int>", "double", "a int, b list<text>", "double"),
}


@pytest.mark.parametrize("change", REJECTED.values(), ids=REJECTED)
def test_registry_rejects_incompatible_schema_until_allowed(
    registry: Registry, subject: str, tmp_path: Path, change: tuple[str, str, str, str]
) -> None:
    before, mode, after, later_mode = change
    schemas = [
        schemas_of(tmp_path, DDL.format(columns=columns), **modes_of(each))[0]
        for columns, each in ((before, mode), (after, later_mode))
    ]
    asking = client(registry)
    number = asking.schema_id(subject, schemas[0])
    with pytest.raises(SchemaRejectedError) as rejected:
        asking.schema_id(subject, schemas[1])
    said = f"the schema registry rejects the schema of {subject}: {registry.url} answers 409:"
    assert str(rejected.value).startswith(said)
    assert registry.versions(subject) == [number]
    assert asking.schema_id(subject, schemas[0]) == number
    registry.allow_any(subject)
    later = asking.schema_id(subject, schemas[1])
    assert registry.versions(subject) == [number, later]


@pytest.mark.parametrize("subject", ["ks.t-value", "a/b c-value", "a.b.Énvelope", "100%-key"])
def test_repeated_registration_returns_the_same_id(registry: Registry, subject: str) -> None:
    """Also from another client, normalised, by lookup, and as the latest version."""
    number = client(registry).schema_id(subject, SCHEMA)
    normal = {"normalize.schemas": "true"}
    for named in ({}, normal, LOOK_UP, {**LOOK_UP, **normal}, LATEST):
        assert client(registry, **named).schema_id(subject, SCHEMA) == number, named
    assert meaning(registry.schema(number)) == meaning(SCHEMA)
    assert registry.versions(subject) == [number]


def test_lookup_never_registers_schemas(registry: Registry, subject: str) -> None:
    for named in (LOOK_UP, LATEST):
        with pytest.raises(SchemaRejectedError, match=f"{registry.url} answers 404"):
            client(registry, **named).schema_id(subject, SCHEMA)
    client(registry).schema_id(subject, SCHEMA)
    other = SCHEMA.replace('"int"', '"string"')
    with pytest.raises(SchemaRejectedError, match="answers 404"):
        client(registry, **LOOK_UP).schema_id(subject, other)
    with pytest.raises(SchemaRejectedError, match="does not match the events"):
        client(registry, **LATEST).schema_id(subject, other)


def test_invalid_schemas_and_addresses_are_reported(registry: Registry, subject: str) -> None:
    with pytest.raises(SchemaRejectedError, match="answers 422"):
        client(registry).schema_id(subject, "{")
    if is_cloudera(registry):
        with pytest.raises(UnavailableError, match="answers 500: Error in the backend data store"):
            client(registry).schema_id(subject, SCHEMA.replace('"int"', '"nonesuch"'))
        # The compatible API has the address `/api/v1/confluent`.
        named = {"schema.registry.url": registry.url.partition("/api")[0]}
        with pytest.raises(UnavailableError, match=r"answers 500: .*HTTP 404 Not Found"):
            client(registry, **named).schema_id(subject, SCHEMA)


@pytest.mark.parametrize(
    "named", [{}, {"normalize.schemas": "true"}, LOOK_UP, LATEST], ids=lambda named: str(named)
)
def test_confluent_client_returns_the_same_ids(
    registry: Registry, confluent: SchemaRegistryClient, named: dict[str, str]
) -> None:
    """Cloudera's registry rejects the schema type that Confluent's client sends."""
    topic = fresh()
    number = client(registry).schema_id(f"{topic}-value", SCHEMA)
    known = confluent.get_schema(number).schema_str
    assert known is not None
    assert meaning(known) == meaning(SCHEMA)
    schema = Schema(SCHEMA, "AVRO")
    if is_cloudera(registry):
        with pytest.raises(SchemaRegistryError, match="500"):
            confluent.register_schema(f"{topic}-value", schema)
        return
    assert confluent.register_schema(f"{topic}-value", schema) == number
    assert confluent.lookup_schema(f"{topic}-value", schema).schema_id == number
    conf = {name: value == "true" for name, value in named.items()}
    strategy = {"subject.name.strategy": topic_subject_name_strategy}
    serializer = AvroSerializer(confluent, SCHEMA, conf={**strategy, **conf})
    message = serializer({"k": 7}, SerializationContext(topic, MessageField.VALUE))
    assert message is not None
    assert int.from_bytes(message[1:5], "big") == number


def test_subject_name_strategies_register_subjects(registry: Registry, tmp_path: Path) -> None:
    prefix, ddl = fresh(), DDL.format(columns="a int")
    schemas = both(inserted(tmp_path, ddl, {}), ddl, topic_prefix=prefix)[0].schemas
    for strategy in ("TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy"):
        RegisteredIds(registry, strategy=strategy).give(schemas)
    topic = f"{prefix}.ks.t"
    record = f"io.debezium.connector.cassandra.{topic}"
    named = [f"{topic}-key", f"{topic}-value", f"{record}.Key", f"{record}.Envelope"]
    named += [f"{topic}-{record}.Key", f"{topic}-{record}.Envelope"]
    assert [len(registry.versions(subject)) for subject in named] == [1] * len(named)


def test_schema_ids_survive_a_registry_kill(tmp_path: Path) -> None:
    """The registry restarts with its file: old schemas keep their ids, new ones get other ids."""

    def schemas_with(columns: str) -> list[Any]:
        ddl = DDL.format(columns=columns)
        return both(inserted(tmp_path, ddl, {}), ddl, topic_prefix="kept")[0].schemas

    with ApicurioRegistry(tmp_path / "registry") as registry:
        ids, before = RegisteredIds(registry), schemas_with("a int")
        ids.give(before)
        numbers = [ids.ids.get(each) or 0 for each in before]
        texts = [registry.schema(number) for number in numbers]
        registry.kill()
        lacking = [each for each in schemas_with("a int, b int") if ids.ids.get(each) is None]
        answer = ids.ask(lacking)
        assert answer.status is RegistrationStatus.UNAVAILABLE
        assert "the schema registry is unavailable" in answer.error
        registry.start()
        assert [registry.schema(number) for number in numbers] == texts
        again = RegisteredIds(registry)
        again.give(before)
        assert [again.ids.get(each) for each in before] == numbers
        ids.give(lacking)
        assert not {ids.ids.get(each) for each in lacking} & set(numbers)
        other = [each for each in schemas_with("a int, b text") if each.side == "value"]
        assert ids.ask(other).status is RegistrationStatus.REJECTED, "BACKWARD is kept too"


def test_agent_resumes_with_an_emptied_registry(
    shared_node: CassandraNode, linked_cdc_raw: Path, keyspace: str, tmp_path: Path
) -> None:
    table, node = f"{keyspace}.orders", shared_node
    with SchemaRegistryServer(tmp_path / "registry") as registry:
        settings = {"snapshot_mode": "never", "cdc_raw_directory": linked_cdc_raw}
        agent = AvroAgent(node, registry, tmp_path / "agent", **settings)
        agent.process.launch()
        try:
            node.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, note text) WITH cdc = true")
            node.execute(f"INSERT INTO {table} (id, note) VALUES (1, 'one')")
            agent.wait_for_events(table, 1)
            registry.kill()
            node.execute(f"ALTER TABLE {table} ADD more int")
            node.execute(f"INSERT INTO {table} (id, more) VALUES (4, 7)")
            agent.process.wait_until(
                lambda: "the schema registry is unavailable" in str(agent.process.ask("/health")),
                "the wait",
            )
            registry.start()
            agent.process.wait_until(
                lambda: len(agent.out.read_bytes().splitlines()) == 2, "the event that waited"
            )
            (version,) = registry.versions(f"x.{table}-value")
            assert '"more"' in registry.schema(version)
            last = json.loads(agent.out.read_bytes().splitlines()[-1])
            assert int.from_bytes(base64.b64decode(last["value"])[1:5], "big") == version
        finally:
            agent.process.end()
