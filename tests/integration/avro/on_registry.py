"""Our client and our schemas against a schema registry that others wrote; `make registry`."""

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
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationContext
from hypothesis import given, settings

import commitlog
from sidecar.errors import UnavailableError
from sidecar.schema_registry.client import RegistryClient, SchemaRejectedError
from sidecar.schema_registry.settings import registry_settings
from tests.oracle.reference.recordings import Scenario
from tests.support.avro.changes import CHANGE_NAMES, CHANGES, schemas_of
from tests.support.avro.encodings import MODES, Encoding, cases, in_both
from tests.support.avro.live import AvroAgent
from tests.support.avro.reading import Ids, Message
from tests.support.avro.recordings import check
from tests.support.avro.tables import DDL, ONE_SEGMENT, both, grown_tables, inserted
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.schema_registry import SchemaRegistryServer

pytestmark = pytest.mark.servers

SCHEMA = json.dumps(
    {"type": "record", "name": "Key", "namespace": "a.b", "fields": [{"name": "k", "type": "int"}]}
)
LOOK_UP = {"auto.register.schemas": "false"}
NUMBERS = count()


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaRegistryServer]:
    with SchemaRegistryServer(tmp_path_factory.mktemp("registry")) as registry:
        yield registry


@pytest.fixture
def theirs(registry: SchemaRegistryServer) -> Iterator[SchemaRegistryClient]:
    """Confluent's own client."""
    with SchemaRegistryClient({"url": registry.url}) as client:
        yield client


@pytest.fixture
def subject() -> str:
    """One that no other test has."""
    return fresh()


def fresh() -> str:
    return f"t{next(NUMBERS)}-value"


def client(registry: SchemaRegistryServer, **named: str) -> RegistryClient:
    url = {"schema.registry.url": registry.url}
    return RegistryClient(registry_settings("value.converter.", {**url, **named}, "value"))


class RegisteredIds(Ids):
    """Schemas get their ids by our client, under subjects of their own; the schema behind an id is
    what the registry gives for it."""

    def __init__(self, registry: SchemaRegistryServer, theirs: SchemaRegistryClient) -> None:
        super().__init__()
        self._registry = registry
        self._client = client(registry)
        self._prefix = fresh()
        self._known: dict[int, str] = {}
        conf = {"subject.name.strategy": topic_subject_name_strategy}
        self._deserializer = AvroDeserializer(theirs, conf=conf)

    def give(self, wanted: list[commitlog.Unregistered]) -> None:
        for schema in wanted:
            subject = f"{self._prefix}-{schema.topic}-{schema.side}"
            self.ids.set(schema, self._client.schema_id(subject, schema.schema))

    def schema(self, number: int) -> str:
        if number not in self._known:
            self._known[number] = self._registry.schema(number)
        return self._known[number]

    def theirs(self, message: Message) -> tuple[Any, Any]:
        """Key and value as Confluent's deserializer reads them, by the same registry."""
        key = SerializationContext(message.topic, MessageField.KEY)
        value = SerializationContext(message.topic, MessageField.VALUE)
        return self._deserializer(message.key, key), self._deserializer(message.value, value)


@pytest.mark.parametrize(("scenario", "modes"), cases({}, *MODES, all_events=()))
def test_every_type_is_read_with_the_schema_of_the_registry(
    registry: SchemaRegistryServer,
    theirs: SchemaRegistryClient,
    scenario: Scenario,
    modes: Encoding,
    tmp_path: Path,
) -> None:
    """By fastavro, and by Confluent's deserializer."""
    ids = RegisteredIds(registry, theirs)
    for decode in (ids.both, ids.theirs):
        assert check(in_both(scenario, modes, ids, tmp_path), decode) > 0


@pytest.mark.parametrize(("before", "after", "value"), CHANGES, ids=CHANGE_NAMES)
def test_a_changed_table_passes_backward(
    registry: SchemaRegistryServer,
    subject: str,
    tmp_path: Path,
    before: str,
    after: str,
    value: bytes,
) -> None:
    """And what was written before is read with the schema of the later id."""
    old, message = schemas_of(tmp_path, before, value)
    new, _ = schemas_of(tmp_path, after, value)
    asking = client(registry)
    first, second = (asking.schema_id(subject, schema) for schema in (old, new))
    assert first != second
    assert registry.versions(subject) == [old, new]
    writer, reader = (
        fastavro.parse_schema(json.loads(registry.schema(number))) for number in (first, second)
    )
    found, known = (
        fastavro.schemaless_reader(io.BytesIO(message), writer, by) for by in (reader, None)
    )
    assert isinstance(found, dict)
    assert isinstance(known, dict)
    assert found["cells"] == known["cells"]
    now, was = found["after"]["a"]["value"], known["after"]["a"]["value"]
    # A user type that grew has fields that nobody wrote.
    assert now == (now | was if isinstance(now, dict) else was)


@settings(ONE_SEGMENT, max_examples=40)
@given(tables=grown_tables())
def test_columns_of_any_types_come_and_go(
    registry: SchemaRegistryServer, tmp_path: Path, tables: tuple[str, str]
) -> None:
    schemas = [both(inserted(tmp_path, ddl, {}), ddl)[0].schemas[-1].schema for ddl in tables]
    asking = client(registry)
    for order in (schemas, schemas[::-1]):
        subject = fresh()
        numbers = [asking.schema_id(subject, schema) for schema in (*order, *order)]
        assert numbers[:2] == numbers[2:]
        assert [registry.schema(number) for number in numbers[:2]] == order


def test_incompatible_schema_is_rejected_until_allowed(
    registry: SchemaRegistryServer, subject: str, tmp_path: Path
) -> None:
    number, _ = schemas_of(tmp_path, DDL.format(columns="a int"))
    text, _ = schemas_of(tmp_path, DDL.format(columns="a text"))
    asking = client(registry)
    known = asking.schema_id(subject, number)
    with pytest.raises(SchemaRejectedError) as refused:
        asking.schema_id(subject, text)
    assert str(refused.value) == (
        f"the schema registry rejects the schema of {subject}: {registry.url} answers 409: "
        "Incompatible Avro schema"
    )
    assert registry.versions(subject) == [number]
    assert asking.schema_id(subject, number) == known
    registry.allow_any(subject)
    assert registry.schema(asking.schema_id(subject, text)) == text


def test_modes_of_numbers_are_not_compatible_with_each_other(
    registry: SchemaRegistryServer, tmp_path: Path
) -> None:
    exact, value = DDL.format(columns="a decimal"), b"\0\0\0\2\1"
    lossy, _ = schemas_of(tmp_path, exact, value)
    precise, _ = schemas_of(tmp_path, exact, value, decimal="precise")
    asking = client(registry)
    for first, second in ((lossy, precise), (precise, lossy)):
        subject = fresh()
        asking.schema_id(subject, first)
        with pytest.raises(SchemaRejectedError, match="409"):
            asking.schema_id(subject, second)


@pytest.mark.parametrize("subject", ["ks.t-value", "a/b c-value", "a.b.Énvelope", "100%-key"])
def test_registering_again_returns_the_same_id(
    registry: SchemaRegistryServer, subject: str
) -> None:
    """By another client too, normalised, looked up, and as the latest."""
    number = client(registry).schema_id(subject, SCHEMA)
    for named in (
        {},
        {"normalize.schemas": "true"},
        LOOK_UP,
        {**LOOK_UP, "normalize.schemas": "true"},
        {**LOOK_UP, "use.latest.version": "true"},
    ):
        assert client(registry, **named).schema_id(subject, SCHEMA) == number, named
    assert registry.schema(number) == SCHEMA
    assert registry.versions(subject) == [SCHEMA]


def test_lookup_does_not_register_missing_schemas(
    registry: SchemaRegistryServer, subject: str
) -> None:
    latest = {**LOOK_UP, "use.latest.version": "true"}
    for named in (LOOK_UP, latest):
        with pytest.raises(SchemaRejectedError, match=r"answers 404: Subject not found$"):
            client(registry, **named).schema_id(subject, SCHEMA)
    client(registry).schema_id(subject, SCHEMA)
    other = SCHEMA.replace('"int"', '"string"')
    with pytest.raises(SchemaRejectedError, match=f"answers 404: .*{subject}.* not found"):
        client(registry, **LOOK_UP).schema_id(subject, other)
    with pytest.raises(SchemaRejectedError, match="has other fields than the events"):
        client(registry, **latest).schema_id(subject, other)


def test_invalid_avro_schema_is_rejected(registry: SchemaRegistryServer, subject: str) -> None:
    with pytest.raises(SchemaRejectedError, match=r"answers 422: Invalid Avro schema$"):
        client(registry).schema_id(subject, "{")


def test_address_without_its_path_is_reported(registry: SchemaRegistryServer, subject: str) -> None:
    """The address is that of the compatible part: `/api/v1/confluent`."""
    named = {"schema.registry.url": registry.url.partition("/api")[0]}
    with pytest.raises(UnavailableError, match=r"answers 500: .*HTTP 404 Not Found"):
        client(registry, **named).schema_id(subject, SCHEMA)


def test_ids_belong_to_one_subject(registry: SchemaRegistryServer) -> None:
    """Confluent's registry gives one id for a schema under all subjects."""
    one, other = (client(registry).schema_id(fresh(), SCHEMA) for _ in range(2))
    assert one != other
    assert registry.schema(one) == registry.schema(other) == SCHEMA


def test_every_version_is_compared(registry: SchemaRegistryServer, subject: str) -> None:
    """As BACKWARD_TRANSITIVE: a field that one version left out keeps its type."""

    def schema(*fields: tuple[str, str]) -> str:
        others = [{"name": n, "type": ["null", t], "default": None} for n, t in fields]
        base: dict[str, Any] = json.loads(SCHEMA)
        return json.dumps({**base, "fields": [*base["fields"], *others]})

    asking = client(registry)
    asking.schema_id(subject, schema(("n", "int")))
    asking.schema_id(subject, SCHEMA)
    with pytest.raises(SchemaRejectedError, match="409"):
        asking.schema_id(subject, schema(("n", "string")))


def test_their_producer_cannot_register_there(
    theirs: SchemaRegistryClient, subject: str, registry: SchemaRegistryServer
) -> None:
    """It says of which type a schema is, which this registry does not take; we say a schema."""
    with pytest.raises(SchemaRegistryError, match="500"):
        theirs.register_schema(subject, Schema(SCHEMA, "AVRO"))
    number = client(registry).schema_id(subject, SCHEMA)
    assert theirs.get_schema(number).schema_str == SCHEMA


def test_entry_without_bytes_is_no_version(
    registry: SchemaRegistryServer, subject: str, tmp_path: Path
) -> None:
    """A schema that differs by attributes alone gets the id of the one that was first."""
    schemas = [schemas_of(tmp_path, DDL.format(columns=f"a {of}"))[0] for of in ("int", "date")]
    assert schemas[0] != schemas[1]
    first, second = (client(registry).schema_id(subject, schema) for schema in schemas)
    assert first == second
    assert registry.versions(subject) == schemas[:1]


def test_unknown_names_are_taken_for_a_registry_that_is_away(
    registry: SchemaRegistryServer, subject: str
) -> None:
    with pytest.raises(UnavailableError, match="answers 500: Error in the backend data store"):
        client(registry).schema_id(subject, SCHEMA.replace('"int"', '"nonesuch"'))


def test_an_agent_goes_on_with_a_registry_that_comes_back_with_nothing(
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
            assert '"more"' in version
            last = json.loads(agent.out.read_bytes().splitlines()[-1])
            given = int.from_bytes(base64.b64decode(last["value"])[1:5], "big")
            assert registry.schema(given) == version
        finally:
            agent.process.end()
