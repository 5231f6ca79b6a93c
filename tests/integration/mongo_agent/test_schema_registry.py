"""Avro messages with a registry that is available, unavailable, or rejects schemas while the agent
runs.

For transformed documents, the stream and snapshots first register one schema per shape.
"""

import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest

from sidecar.errors import AccessDeniedError
from tests.support.mongodb.running_agent import RunAgent, RunningAgent
from tests.support.mongodb.server.client import Client
from tests.support.sinks.fake_registry import Answer, FakeRegistry

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


def settings(registry: FakeRegistry, **more: object) -> dict[str, object]:
    sides = {
        f"{side}_{name}": value
        for side in ("key", "value")
        for name, value in (("converter", "avro"), ("converter_schema.registry.url", registry.url))
    }
    return {**sides, **more}


def read(registry: FakeRegistry, message: bytes) -> Any:
    assert message[0] == 0
    schema = json.loads(registry.schemas[int.from_bytes(message[1:5], "big")])
    rest = io.BytesIO(message[5:])
    found = fastavro.schemaless_reader(rest, fastavro.parse_schema(schema), None)
    assert not rest.read()
    return found


def keys(registry: FakeRegistry, agent: RunningAgent) -> list[tuple[str, Any]]:
    """Topic and key of each delivered message."""
    messages = list(agent.sink.messages)
    return [(topic, read(registry, key)) for _, (topic, key, *_) in messages]


def health(agent: RunningAgent) -> str:
    (found,) = (
        each for each in agent.service.status.health().components if each.name == "schema_registry"
    )
    return "" if found.ok else found.message


def test_every_message_kind_is_registered_and_delivered(
    writer: Client, run_agent: RunAgent, registry: FakeRegistry
) -> None:
    writer.shop.a.insert_one({"_id": 0})
    chosen = settings(registry, snapshot_mode="initial", heartbeat_interval_ms=20)
    with run_agent(**chosen, provide_transaction_metadata="true") as agent:
        agent.wait_until(lambda: any(t == "p.shop.a" for t, _ in keys(registry, agent)), "a copy")
        agent.wait_until_streaming()
        with writer.start_session() as session, session.start_transaction():
            writer.shop.a.insert_one({"_id": 1}, session=session)
        writer.shop.a.delete_one({"_id": 1})
        wanted = {"p.transaction", "__debezium-heartbeat.p"}
        agent.wait_until(
            lambda: (
                wanted <= {topic for topic, _ in keys(registry, agent)}
                and any(message[2] is None for _, message in list(agent.sink.messages))
            ),
            "every kind of message",
        )
        assert health(agent) == ""
    values = [
        (topic, read(registry, value))
        for _, (topic, _, value, _, _) in agent.sink.messages
        if value is not None
    ]
    operations = [value["op"] for topic, value in values if topic == "p.shop.a"]
    assert operations == ["r", "c", "d"]
    assert {key["id"] for topic, key in keys(registry, agent) if topic == "p.shop.a"} == {"0", "1"}
    assert [v["status"] for topic, v in values if topic == "p.transaction"] == ["BEGIN", "END"]
    assert registry.subjects.keys() == {
        f"{topic}-{side}" for topic in ("p.shop.a", *wanted) for side in ("key", "value")
    }


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (UNAVAILABLE, "the schema registry is unavailable"),
        ((401, {"message": "who are you"}), "401: who are you"),
    ],
    ids=["away", "rejects the agent"],
)
def test_events_wait_for_a_failing_registry(
    writer: Client, run_agent: RunAgent, registry: FakeRegistry, answer: Answer, sentence: str
) -> None:
    registry.mood = lambda method, subject: answer
    with run_agent(**settings(registry)).streaming() as agent:
        writer.shop.a.insert_one({"_id": 1})
        agent.wait_until(lambda: sentence in health(agent), "the sentence")
        assert agent.sink.messages == []
        registry.mood = lambda method, subject: None
        agent.wait_until(lambda: keys(registry, agent) == [("p.shop.a", {"id": "1"})], "the event")


def test_events_waiting_for_the_registry_survive_a_restart(
    writer: Client, run_agent: RunAgent, registry: FakeRegistry
) -> None:
    registry.mood = lambda method, subject: UNAVAILABLE
    with run_agent(**settings(registry)).streaming() as agent:
        writer.shop.a.insert_one({"_id": 1})
        agent.wait_until(lambda: health(agent) != "", "the question")
    registry.mood = lambda method, subject: None
    with run_agent(**settings(registry)) as agent:
        agent.wait_until(lambda: keys(registry, agent) == [("p.shop.a", {"id": "1"})], "the event")


def test_streams_stop_despite_an_unresponsive_registry(
    writer: Client, run_agent: RunAgent, registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With several streams: none of them uses up its timeout, which is an hour here."""
    is_over = threading.Event()

    def never(method: str, subject: str) -> None:
        is_over.wait()

    registry.mood = never
    hour_s = 3600
    monkeypatch.setattr("mongo_agent.change_stream.reader._JOIN_S", hour_s)
    timeouts = {f"{side}_converter_request.timeout.ms": hour_s * 1000 for side in ("key", "value")}
    streams = {"capture_scope": "collection", "capture_target": "shop.a,shop.b,shop.c"}
    try:
        with run_agent(**settings(registry, **timeouts, **streams)).streaming() as agent:
            for name in "abc":
                writer.shop[name].insert_one({"_id": 1})
            agent.wait_until(lambda: bool(registry.requests), "the question")
        assert agent.wait_until_ended() is None
        assert agent.sink.messages == []
    finally:
        is_over.set()


def refusing(collection: str) -> Any:
    def mood(method: str, subject: str) -> Answer | None:
        if subject.startswith(f"p.shop.{collection}-"):
            return 409, {"message": "incompatible"}
        return None

    return mood


def test_event_with_rejected_schema_is_quarantined_while_others_continue(
    writer: Client, run_agent: RunAgent, registry: FakeRegistry, tmp_path: Path
) -> None:
    registry.mood = refusing("a")
    with run_agent(**settings(registry, schema_blocked_timeout_ms=0)).streaming() as agent:
        writer.shop.a.insert_one({"_id": 1})
        writer.shop.b.insert_one({"_id": 2})
        agent.wait_until(lambda: keys(registry, agent) == [("p.shop.b", {"id": "2"})], "the other")
        kept = tmp_path / "offsets" / "quarantine" / "refused.ndjson"
        (line,) = kept.read_text().splitlines()
        assert "rejects the schema of the key in topic p.shop.a" in json.loads(line)["reason"]
        assert "p.shop.a-key" in health(agent)


def test_snapshot_waiting_for_schemas_does_not_block_the_stream(
    writer: Client, run_agent: RunAgent, registry: FakeRegistry
) -> None:
    writer.shop.a.insert_one({"_id": 1})
    writer.shop.b.insert_one({"_id": 2})
    registry.mood = refusing("a")
    with run_agent(**settings(registry, snapshot_mode="initial")) as agent:
        agent.wait_until(lambda: ("p.shop.b", {"id": "2"}) in keys(registry, agent), "b's copy")
        writer.shop.b.insert_one({"_id": 3})
        agent.wait_until(lambda: ("p.shop.b", {"id": "3"}) in keys(registry, agent), "b's event")
        assert agent.is_snapshot_running
        assert all(topic == "p.shop.b" for topic, _ in keys(registry, agent))
        registry.mood = lambda method, subject: None
        agent.wait_until(lambda: ("p.shop.a", {"id": "1"}) in keys(registry, agent), "a's copy")


def test_access_denied_by_registry_ends_the_agent_if_configured(
    writer: Client, run_agent: RunAgent, registry: FakeRegistry
) -> None:
    registry.mood = lambda method, subject: (401, {"message": "who are you"})
    with run_agent(access_denied_action="exit", **settings(registry)).streaming() as agent:
        writer.shop.a.insert_one({"_id": 1})
        error = agent.wait_until_ended()
    assert isinstance(error, AccessDeniedError)
    assert "401: who are you" in str(error)


def test_embedded_schemas_need_no_registry(writer: Client, run_agent: RunAgent) -> None:
    converter = "org.apache.kafka.connect.json.JsonConverter"
    with run_agent(key_converter=converter, value_converter=converter).streaming() as agent:
        writer.shop.a.insert_one({"_id": 1})
        (message,) = agent.wait_for(1)
    assert message.key["schema"]["name"] == "p.shop.a.Key"
    assert message.value["schema"]["name"] == "p.shop.a.Envelope"
    assert json.loads(message.value["payload"]["after"]) == {"_id": 1}


def transformed(registry: FakeRegistry, kind: str, **more: object) -> dict[str, object]:
    transform = {"transforms": "t", "transforms_t_type": f"{PACKAGE}.{kind}"}
    return settings(registry, **transform, **more)


def values(registry: FakeRegistry, agent: RunningAgent) -> list[tuple[str, Any]]:
    """Topic and value of each delivered message."""
    return [
        (topic, value and read(registry, value))
        for _, (topic, _, value, *_) in list(agent.sink.messages)
    ]


def test_snapshot_and_stream_register_the_schema_of_each_shape(
    writer: Client, run_agent: RunAgent, registry: FakeRegistry
) -> None:
    writer.shop.a.insert_many(DOCUMENTS)
    registry.mood = lambda method, subject: UNAVAILABLE
    chosen = transformed(registry, "ExtractNewDocumentState", snapshot_mode="initial")
    with run_agent(**chosen) as agent:
        agent.wait_until(lambda: health(agent) != "", "the error")
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
        agent.wait_until(lambda: health(agent) == "", "the end of the error")
    assert {name: len(schemas) for name, schemas in registry.subjects.items()} == {
        "p.shop.a-key": 2,
        "p.shop.a-value": 4,
    }


def test_signalled_snapshot_registers_the_schema_of_each_shape(
    writer: Client, run_agent: RunAgent, registry: FakeRegistry
) -> None:
    writer.shop.a.insert_many(DOCUMENTS)
    chosen = transformed(registry, "ExtractNewDocumentState", signal_data_collection="shop.signals")
    with run_agent(**chosen).streaming() as agent:
        data = {"data-collections": ["shop.a"], "type": "incremental"}
        writer.shop.signals.insert_one({"type": "execute-snapshot", "data": json.dumps(data)})

        def copied() -> list[Any]:
            return [value for topic, value in values(registry, agent) if topic == "p.shop.a"]

        agent.wait_until(lambda: copied() == READ, "the snapshot")


def test_snapshot_documents_with_rejected_schemas_are_quarantined(
    writer: Client, run_agent: RunAgent, registry: FakeRegistry, tmp_path: Path
) -> None:
    writer.shop.a.insert_many(DOCUMENTS)
    rejected = (409, {"message": "incompatible"})
    registry.mood = lambda method, subject: (
        rejected if method == "POST" and "p.shop.a-value" in registry.subjects else None
    )
    chosen = transformed(registry, "ExtractNewDocumentState", snapshot_mode="initial")
    with run_agent(**chosen, schema_blocked_timeout_ms=0) as agent:
        agent.wait_until(lambda: len(agent.sink.messages) == 1, "the accepted document")
        agent.wait_until(lambda: not agent.is_snapshot_running, "the end of the snapshot")
        assert values(registry, agent) == [("p.shop.a", READ[0])]
        kept = tmp_path / "offsets" / "quarantine" / "refused.ndjson"
        reasons = [json.loads(line)["reason"] for line in kept.read_text().splitlines()]
    expected = "rejects the schema of the value in topic p.shop.a"
    assert [expected in reason for reason in reasons] == [True, True]


def test_outbox_events_use_the_subjects_of_their_topics(
    writer: Client, run_agent: RunAgent, registry: FakeRegistry
) -> None:
    options = {
        "transforms_t_collection.field.event.key": "key",
        "transforms_t_collection.expand.json.payload": "true",
    }
    chosen = transformed(registry, "outbox.MongoEventRouter", **options)
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
