"""Transformed documents in Avro: each shape of a document has a schema of its own, which the stream
and snapshots register first."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest

from tests.support.mongodb.running_agent import RunAgent, RunningAgent
from tests.support.mongodb.server.client import Client
from tests.support.sinks.fake_registry import FakeRegistry

UNAVAILABLE = (503, {"message": "not now"})
PACKAGE = "io.debezium.connector.mongodb.transforms"
DOCUMENTS: list[dict[str, Any]] = [
    {"_id": 1, "n": 1},
    {"_id": 2, "n": 2, "to": {"city": "A"}},
    {"_id": 3, "l": [{"x": 1}, {"y": "z"}]},
]
READ = [
    {"_id": 1, "n": 1},
    {"_id": 2, "n": 2, "to": {"city": "A"}},
    {"_id": 3, "l": [{"x": 1, "y": None}, {"x": None, "y": "z"}]},
]


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with FakeRegistry() as started:
        yield started


def settings(registry: FakeRegistry, kind: str, **more: object) -> dict[str, object]:
    sides = {
        f"{side}_{name}": value
        for side in ("key", "value")
        for name, value in (("converter", "avro"), ("converter_schema.registry.url", registry.url))
    }
    return {**sides, "transforms": "t", "transforms_t_type": f"{PACKAGE}.{kind}", **more}


def read(registry: FakeRegistry, message: bytes) -> Any:
    schema = json.loads(registry.schemas[int.from_bytes(message[1:5], "big")])
    return fastavro.schemaless_reader(io.BytesIO(message[5:]), fastavro.parse_schema(schema), None)


def values(registry: FakeRegistry, agent: RunningAgent) -> list[tuple[str, Any]]:
    """Topics and values of what is delivered."""
    return [
        (topic, value and read(registry, value))
        for _, (topic, _, value, *_) in list(agent.sink.messages)
    ]


def has_error(agent: RunningAgent) -> bool:
    components = agent.service.status.health().components
    return any(each.name == "schema_registry" and not each.ok for each in components)


def test_snapshot_and_stream_register_the_schema_of_each_shape(
    writer: Client, run_agent: RunAgent, registry: FakeRegistry
) -> None:
    writer.shop.a.insert_many(DOCUMENTS)
    registry.mood = lambda method, subject: UNAVAILABLE
    chosen = settings(registry, "ExtractNewDocumentState", snapshot_mode="initial")
    with run_agent(**chosen) as agent:
        agent.wait_until(lambda: has_error(agent), "the error")
        assert agent.sink.messages == []
        registry.mood = lambda method, subject: None
        agent.wait_until(lambda: len(agent.sink.messages) >= len(READ), "the snapshot")
        assert values(registry, agent) == [("p.shop.a", each) for each in READ]
        writer.shop.a.insert_one({"_id": "4", "n": 1.5})
        writer.shop.a.delete_one({"_id": "4"})
        agent.wait_until(lambda: len(agent.sink.messages) == len(READ) + 2, "the stream")
        assert values(registry, agent)[-2:] == [
            ("p.shop.a", {"_id": "4", "n": 1.5}),
            ("p.shop.a", None),
        ]
        agent.wait_until(lambda: not has_error(agent), "the end of the error")
    assert {name: len(schemas) for name, schemas in registry.subjects.items()} == {
        "p.shop.a-key": 2,
        "p.shop.a-value": 4,
    }


def test_snapshot_after_a_signal_registers_them_too(
    writer: Client, run_agent: RunAgent, registry: FakeRegistry
) -> None:
    writer.shop.a.insert_many(DOCUMENTS)
    chosen = settings(registry, "ExtractNewDocumentState", signal_data_collection="shop.signals")
    with run_agent(**chosen).streaming() as agent:
        data = {"data-collections": ["shop.a"], "type": "incremental"}
        writer.shop.signals.insert_one({"type": "execute-snapshot", "data": json.dumps(data)})

        def copied() -> list[Any]:
            return [value for topic, value in values(registry, agent) if topic == "p.shop.a"]

        agent.wait_until(lambda: copied() == READ, "the snapshot")


def test_rejected_schemas_of_a_snapshot_are_quarantined(
    writer: Client, run_agent: RunAgent, registry: FakeRegistry, tmp_path: Path
) -> None:
    writer.shop.a.insert_many(DOCUMENTS)
    rejected = (409, {"message": "incompatible"})
    registry.mood = lambda method, subject: (
        rejected if method == "POST" and "p.shop.a-value" in registry.subjects else None
    )
    chosen = settings(registry, "ExtractNewDocumentState", snapshot_mode="initial")
    with run_agent(**chosen, schema_blocked_timeout_ms=0) as agent:
        agent.wait_until(lambda: len(agent.sink.messages) == 1, "the accepted document")
        agent.wait_until(lambda: not agent.is_snapshot_running, "the end of the snapshot")
        assert values(registry, agent) == [("p.shop.a", READ[0])]
        kept = tmp_path / "offsets" / "quarantine" / "refused.ndjson"
        reasons = [json.loads(line)["reason"] for line in kept.read_text().splitlines()]
    expected = "rejects the schema of the value in topic p.shop.a"
    assert [expected in reason for reason in reasons] == [True, True]


def test_events_of_an_outbox_have_subjects_of_their_topics(
    writer: Client, run_agent: RunAgent, registry: FakeRegistry
) -> None:
    options = {
        "transforms_t_collection.field.event.key": "key",
        "transforms_t_collection.expand.json.payload": "true",
    }
    chosen = settings(registry, "outbox.MongoEventRouter", **options)
    with run_agent(**chosen).streaming() as agent:
        for number, kind in enumerate(("order", "bill")):
            document = {"_id": number, "aggregatetype": kind, "key": "k", "payload": {"n": number}}
            writer.shop.outbox.insert_one(document)
        agent.wait_until(lambda: len(agent.sink.messages) == 2, "the events")
        assert values(registry, agent) == [
            ("outbox.event.order", {"n": 0}),
            ("outbox.event.bill", {"n": 1}),
        ]
    assert registry.subjects.keys() == {
        f"outbox.event.{kind}-{side}" for kind in ("order", "bill") for side in ("key", "value")
    }
