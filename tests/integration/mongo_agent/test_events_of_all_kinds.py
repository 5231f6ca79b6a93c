"""Content of events by capture property, and events that cannot be delivered unchanged."""

import json
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from mongo_agent.check.checks import CHECKS
from mongo_agent.check.probe import open_probe
from sidecar.check.check import Level
from sidecar.errors import SidecarError
from tests.support.mongodb.running_agent import RunAgent, RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.sinks.memory_sink import MemorySink

LARGE_BYTES = 4000
LARGE = "x" * LARGE_BYTES


def create_with_images(client: Client) -> None:
    client.shop.create_collection("a", changeStreamPreAndPostImages={"enabled": True})


@pytest.mark.parametrize(
    ("mode", "before", "after"),
    [
        ("change_streams", None, None),
        ("change_streams_update_full", None, {"_id": 1, "n": 2}),
        ("change_streams_with_pre_image", {"_id": 1, "n": 1}, None),
        ("change_streams_update_full_with_pre_image", {"_id": 1, "n": 1}, {"_id": 1, "n": 2}),
    ],
)
def test_capture_mode_selects_the_images(
    mode: str, before: object, after: object, writer: Client, run_agent: RunAgent
) -> None:
    create_with_images(writer)
    with run_agent(capture_mode=mode).streaming() as agent:
        writer.shop.a.insert_one({"_id": 1, "n": 1})
        writer.shop.a.update_one({"_id": 1}, {"$set": {"n": 2}})
        update = agent.wait_for(2)[1]
    assert (update.before, update.after) == (before, after)
    assert json.loads(update.value["updateDescription"]["updatedFields"]) == {"n": 2}


def test_transaction_metadata_ends_without_a_further_event(
    writer: Client, run_agent: RunAgent, three_members: MongoReplicaSet
) -> None:
    with run_agent(provide_transaction_metadata="true").streaming() as agent:
        with writer.start_session() as session, session.start_transaction():
            writer.shop.a.insert_one({"_id": 1}, session=session)
            writer.shop.b.insert_one({"_id": 2}, session=session)
        three_members.write_noop()
        begin, first, second, end = agent.wait_for(4)
    assert [begin.value["status"], end.value["status"]] == ["BEGIN", "END"]
    assert begin.topic == end.topic == "p.transaction"
    assert end.value["event_count"] == 2
    assert first.value["transaction"]["total_order"] == 1
    assert second.value["transaction"]["total_order"] == 2
    assert first.value["transaction"]["id"] == begin.value["id"] == end.value["id"]


def test_transaction_numbers_continue_after_a_restart(
    writer: Client, run_agent: RunAgent, three_members: MongoReplicaSet
) -> None:
    """The agent stops while half of the transaction is acknowledged; no BEGIN is repeated."""
    properties = {"provide_transaction_metadata": "true", "max_batch_size": 2}
    sink = MemorySink(automatic=False)
    with run_agent(sink, shutdown_timeout_ms=1, **properties).streaming() as agent:
        with writer.start_session() as session, session.start_transaction():
            writer.shop.a.insert_many([{"_id": n} for n in range(6)], session=session)
        three_members.write_noop()
        agent.wait_for(4)
        # The beginning and two of the six events.
        sink.acknowledge(range(3))
        agent.wait_until(lambda: agent.acknowledged >= 3, "three acknowledged messages")
        agent.stop_at_once()
    with run_agent(**properties) as agent:
        published = agent.wait_for(5)
    orders = [each.value["transaction"]["total_order"] for each in published[:4]]
    assert orders == [3, 4, 5, 6]
    assert published[4].value["status"] == "END"
    assert published[4].value["event_count"] == 6


@pytest.fixture
def small_replies(tmp_path: Path) -> Iterator[tuple[RunAgent, Client]]:
    """Agent of a server with a small maximum event size."""
    with (
        MongoReplicaSet(max_event_bytes=2 * LARGE_BYTES) as replica_set,
        Client(replica_set.connection_string) as client,
    ):
        create_with_images(client)
        yield partial(RunningAgent, tmp_path / "offsets", replica_set.connection_string), client


PRE = {"capture.mode": "change_streams_update_full_with_pre_image"}


def write_a_large_event(client: Client) -> None:
    client.shop.a.insert_one({"_id": 1, "text": LARGE})
    client.shop.a.update_one({"_id": 1}, {"$set": {"text": LARGE[1:]}})
    client.shop.a.insert_one({"_id": 2})


def test_oversized_event_is_read_in_parts(
    small_replies: tuple[RunAgent, Client],
) -> None:
    run, client = small_replies
    with run(PRE).streaming() as agent:
        write_a_large_event(client)
        published = agent.wait_for(3)
    assert [each.kind for each in published] == ["insert", "update", "insert"]
    assert published[1].before["text"] == LARGE
    assert published[1].after["text"] == LARGE[1:]


def test_oversized_event_is_skipped_if_configured(small_replies: tuple[RunAgent, Client]) -> None:
    run, client = small_replies
    properties = {**PRE, "cursor.oversize.handling.mode": "skip"}
    with run(properties).streaming() as agent:
        write_a_large_event(client)
        published = agent.wait_for(2)
        assert b'cdc_skipped_events_total{reason="too large"} 1.0' in agent.service.status.metrics()
    assert [each.id for each in published] == [1, 2]


def test_oversized_event_ends_agent_if_configured(
    small_replies: tuple[RunAgent, Client],
) -> None:
    run, client = small_replies
    properties = {**PRE, "cursor.oversize.handling.mode": "fail"}
    with run(properties).streaming() as agent:
        write_a_large_event(client)
        error = agent.wait_until_ended()
    assert isinstance(error, SidecarError)
    assert "cursor.oversize.handling.mode=split" in str(error)


@pytest.mark.parametrize("source", ["shop.tmp.agg_out.0b3f6f6e", "shop.tmp.mr.b_1", "crm.staged"])
def test_replaced_collection_is_reported_until_copied(
    writer: Client, run_agent: RunAgent, tmp_path: Path, source: str
) -> None:
    """As with `$out` and mapReduce: the temporary collection has no topic, the status reports the
    loss, and the remedy's command copies the documents."""
    properties = {
        "database_include_list": "shop",
        "signal_enabled_channels": "source",
        "signal_data_collection": "ops.signals",
    }
    with run_agent(**properties).streaming() as agent:
        writer.shop.b.insert_one({"_id": 1})
        database, _, name = source.partition(".")
        writer[database][name].insert_many([{"_id": 2}, {"_id": 3}])
        writer.admin.command("renameCollection", source, to="shop.b", dropTarget=True)
        writer.shop.b.insert_one({"_id": 4})
        published = agent.wait_for(2)
        assert [(each.topic, each.id) for each in published] == [("p.shop.b", 1), ("p.shop.b", 4)]
        agent.wait_until(lambda: agent.service.status.status().conditions, "the condition")
        (condition,) = agent.service.status.status().conditions
        # The server moves a collection of another database through a temporary one.
        temporary = "shop.tmp" if database == "crm" else source
        assert f"shop.b (replaced by {temporary}" in condition.message
        assert "`mongo-agent snapshot start --replace shop.b`" in condition.remedy
        data = json.dumps({"data-collections": ["shop.b"], "replace": True})
        writer.ops.signals.insert_one({"type": "execute-snapshot", "data": data})
        copied = [each.id for each in agent.wait_for(3) if each.kind == "read"]
        assert sorted(copied) == [2, 3, 4]
        agent.wait_until(lambda: not agent.service.status.status().conditions, "its end")


@pytest.mark.parametrize("version", ["4.4.29", "5.0.31", "6.0.8"])
@pytest.mark.parametrize("mode", ["skip", "split"])
def test_releases_without_split_events_skip_or_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, mode: str
) -> None:
    """These releases measure events, so the agent can count the skipped ones."""
    monkeypatch.setattr("mongo_agent.change_stream.options.MOST_BYTES", 1.5 * LARGE_BYTES)
    with (
        MongoReplicaSet(version=version, max_event_bytes=2 * LARGE_BYTES) as replica_set,
        Client(replica_set.connection_string) as client,
        RunningAgent(
            tmp_path / "offsets",
            replica_set.connection_string,
            {"cursor.oversize.handling.mode": mode},
        ).streaming() as agent,
    ):
        write_a_large_event(client)
        if mode == "skip":
            assert [each.id for each in agent.wait_for(2)] == [1, 2]
            skipped = b'cdc_skipped_events_total{reason="too large"} 1.0'
            assert skipped in agent.service.status.metrics()
            return
        error = str(agent.wait_until_ended())
    assert "`cursor.oversize.handling.mode=skip`" in error
    assert "Unrecognized" not in error


def test_rejected_message_is_quarantined_while_delivery_continues(
    writer: Client, run_agent: RunAgent
) -> None:
    sink = MemorySink(automatic=False)
    with run_agent(sink).streaming() as agent:
        writer.shop.a.insert_many([{"_id": number} for number in range(3)])
        agent.wait_for(3)
        sink.fail(1, "it is too large")
        sink.acknowledge()
        agent.wait_until(lambda: agent.acknowledged >= 2, "the others")
        line = agent.wait_for_dead_letter()
        sink.acknowledge()
    assert (line["key"], line["reason"]) == ({"id": "1"}, "it is too large")


def test_schema_changes_go_to_their_own_topic(writer: Client, run_agent: RunAgent) -> None:
    with run_agent(topic_schema_changes="p.schema").streaming() as agent:
        writer.shop.a.insert_one({"_id": 1})
        writer.shop.a.rename("b")
        writer.shop.b.drop()
        published = [each for each in agent.wait_for(4) if each.topic == "p.schema"]
    assert [each.kind for each in published] == ["schema"] * 3


@pytest.mark.parametrize("version", ["4.4.29", "5.0.31"])
def test_older_servers_report_only_destructive_schema_changes(tmp_path: Path, version: str) -> None:
    """The server sends no event for a created collection or an index."""
    properties = {"topic.schema.changes": "p.schema"}
    with (
        MongoReplicaSet(version=version) as replica_set,
        MongoClient[Any](replica_set.connection_string) as client,
        RunningAgent(
            tmp_path / "offsets", replica_set.connection_string, properties
        ).streaming() as agent,
    ):
        client.shop.create_collection("a")
        client.shop.a.create_index("n")
        client.shop.a.rename("b")
        client.shop.b.drop()
        client.drop_database("shop")
        published = agent.wait_for(3)
        with open_probe(agent.configuration()) as probe:
            check = next(each for each in CHECKS if each.name == "deployment")
            found = {each.code: each.level for each in check.find(probe)}
    assert {each.topic for each in published} == {"p.schema"}
    operations = [each.value["operation"] for each in published]
    assert operations == ["rename", "drop", "dropDatabase"]
    assert found["server_without_expanded_events"] is Level.WARNING


def ask(agent: RunningAgent, path: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {} if body is None else {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{agent.url}{path}", data, headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def test_file_signal_starts_a_snapshot(writer: Client, run_agent: RunAgent, tmp_path: Path) -> None:
    """The file is removed once the offset covers the signal, so a restart does not copy again."""
    path = tmp_path / "signals" / "signals.txt"
    path.parent.mkdir()
    writer.shop.a.insert_one({"_id": 1})
    channel = {"signal_enabled_channels": "file", "signal_file": path}
    with run_agent(**channel).streaming() as agent:
        data = {"type": "incremental", "data-collections": ["shop.a"]}
        path.write_text(json.dumps({"id": "7", "type": "execute-snapshot", "data": data}) + "\n")
        published = agent.wait_for(1)
        agent.wait_until(lambda: not any(path.parent.iterdir()), "the file to be removed")
    assert [(each.topic, each.kind) for each in published] == [("p.shop.a", "read")]
    with run_agent(**channel).streaming() as agent:
        writer.shop.a.insert_one({"_id": 2})
        assert [each.kind for each in agent.wait_for(1)] == ["insert"]


def test_debezium_metrics_cover_snapshot_and_streaming(writer: Client, run_agent: RunAgent) -> None:
    writer.shop.a.insert_many([{"_id": number} for number in range(5)])
    with run_agent(snapshot_mode="initial", provide_transaction_metadata="true") as agent:
        agent.wait_for(5)
        agent.wait_until(lambda: ask(agent, "/metrics.json")["snapshot"]["LastEvent"], "a view")
        before = ask(agent, "/metrics.json")
        writer.shop.a.insert_one({"_id": 7})
        writer.shop.a.delete_one({"_id": 7})
        agent.wait_for(8)
        with writer.start_session() as session, session.start_transaction():
            writer.shop.a.insert_one({"_id": 8}, session=session)
        agent.wait_for(10)
        # An event outside the transaction ends it.
        writer.shop.a.insert_one({"_id": 9})
        agent.wait_for(12)
        agent.wait_until(
            lambda: ask(agent, "/metrics.json")["streaming"]["LastEvent"] == 'p.shop.a {"id":"9"}',
            "the last event",
        )
        found = ask(agent, "/metrics.json")
        shown = ask(agent, "/page.json")
    assert before["streaming"]["LastEvent"] is None
    assert before["streaming"]["MilliSecondsSinceLastEvent"] == -1
    assert found["snapshot"]["SnapshotCompleted"] is True
    assert found["snapshot"]["SnapshotAborted"] is False
    assert found["snapshot"]["RowsScanned"] == {"shop.a": 5}
    assert found["snapshot"]["LastEvent"] == 'p.shop.a {"id":"4"}'
    assert found["snapshot"]["MilliSecondsSinceLastEvent"] >= 0
    assert found["streaming"]["Connected"] is True
    assert found["streaming"]["MilliSecondsSinceLastEvent"] >= 0
    assert found["streaming"]["TotalNumberOfCreateEventsSeen"] == 3
    assert found["streaming"]["TotalNumberOfDeleteEventsSeen"] == 1
    assert found["streaming"]["CapturedTables"] == ["shop.a"]
    assert found["streaming"]["CapturedTables"] == ["shop.a"]
    assert [each["name"] for each in shown["counts"]] == ["shop.a", "(no collection)"]
    assert found["streaming"]["NumberOfCommittedTransactions"] == 1
    begin = next(each for each in agent.published if each.kind == "transaction")
    assert found["streaming"]["LastTransactionId"] == begin.value["id"]


def test_debezium_metrics_report_a_stopped_snapshot_as_aborted(
    writer: Client, run_agent: RunAgent
) -> None:
    writer.shop.a.insert_many([{"_id": number} for number in range(5)])
    with run_agent(snapshot_mode="initial", snapshot_delay_ms=3_600_000).streaming() as agent:
        signal = {"type": "stop-snapshot", "data": {"type": "incremental"}}
        assert ask(agent, "/signals", signal)["accepted"]
        agent.wait_until(
            lambda: not ask(agent, "/metrics.json")["snapshot"]["SnapshotRunning"], "the end"
        )
        found = ask(agent, "/metrics.json")["snapshot"]
    assert (found["SnapshotAborted"], found["SnapshotCompleted"]) == (True, False)
    assert (found["LastEvent"], found["TotalNumberOfEventsSeen"]) == (None, 0)


def test_initial_only_snapshot_ends_the_agent(writer: Client, run_agent: RunAgent) -> None:
    writer.shop.a.insert_many([{"_id": number} for number in range(50)])
    properties = {"snapshot_mode": "initial_only", "incremental_snapshot_chunk_size": 10}
    with run_agent(**properties) as agent:
        assert agent.wait_until_ended() is None
        assert [each.id for each in agent.published] == list(range(50))
    with run_agent(**properties) as agent:
        assert agent.wait_until_ended() is None
        assert agent.published == []
