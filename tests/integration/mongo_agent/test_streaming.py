"""The agent with a replica set: writes arrive in order, once without faults, and at least once with
faults."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from bson import Decimal128, Int64

from mongo_agent.config import loading
from sidecar.errors import OffsetStoreError, SinkRestartError
from tests.support.mongodb.running_agent import Published, RunAgent, RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client, write_through_election
from tests.support.servers.processes import free_port
from tests.support.sinks.memory_sink import MemorySink


def kinds(published: list[Published]) -> list[str]:
    return [each.kind for each in published]


def ids(published: list[Published]) -> list[Any]:
    return [each.id for each in published]


def test_changes_arrive_in_order(writer: Client, run_agent: RunAgent) -> None:
    with run_agent().streaming() as agent:
        writer.shop.a.insert_one({"_id": 1, "n": 1})
        writer.shop.a.update_one({"_id": 1}, {"$set": {"n": 2}})
        # The server looks up the document when the agent reads the event.
        agent.wait_for(2)
        writer.shop.b.insert_one({"_id": "x"})
        writer.shop.a.delete_one({"_id": 1})
        published = agent.wait_for(5)
    assert kinds(published) == ["insert", "update", "insert", "delete", "tombstone"]
    assert [each.topic for each in published] == ["p.shop.a"] * 2 + ["p.shop.b"] + ["p.shop.a"] * 2
    assert published[1].after == {"_id": 1, "n": 2}


def test_restart_resumes_at_the_stored_position(writer: Client, run_agent: RunAgent) -> None:
    with run_agent().streaming() as agent:
        writer.shop.a.insert_many([{"_id": number} for number in range(10)])
        agent.wait_for(10)
    writer.shop.a.insert_many([{"_id": number} for number in range(10, 20)])
    with run_agent() as agent:
        published = agent.wait_for(10)
    assert ids(published) == list(range(10, 20))


@pytest.mark.parametrize("version", ["6.0.9", "7.0.14"])
def test_offset_after_a_wide_number_is_resumable(tmp_path: Path, version: str) -> None:
    """The server adds `_typeBits` to such a token and requires them."""

    def is_stored(agent: RunningAgent) -> bool:
        return bool(agent.published) and "_typeBits" in str(agent.service.status.offsets())

    numbers = [Int64(7), Int64(1 << 40), 2.5, Decimal128("3"), {"a": Int64(1), "b": [1.0]}]
    with (
        MongoReplicaSet(version=version) as replica_set,
        Client(replica_set.connection_string) as writer,
    ):
        address = replica_set.connection_string
        for number in numbers:
            with RunningAgent(tmp_path, address).streaming() as agent:
                writer.shop.a.insert_one({"_id": number})
                agent.wait_until(partial(is_stored, agent), f"the token of {number!r}")
                assert len(agent.published) == 1


def test_unacknowledged_events_are_resent(writer: Client, run_agent: RunAgent) -> None:
    sink = MemorySink(automatic=False)
    with run_agent(sink).streaming() as agent:
        writer.shop.a.insert_many([{"_id": number} for number in range(10)])
        agent.wait_for(10)
        sink.acknowledge(range(4))
        sink.raise_next(SinkRestartError("the broker lost something"))
        agent.wait_until(lambda: len(agent.published) >= 16, "the rest again")
        published = agent.published
        sink.acknowledge()
    assert ids(published) == [*range(10), *range(4, 10)]


@pytest.mark.parametrize("fault", ["step_down", "drop_connections", "lose_and_elect", "stop"])
def test_stream_survives_faults_of_the_servers(
    fault: str, three_members: MongoReplicaSet, writer: Client, run_agent: RunAgent
) -> None:
    with run_agent().streaming() as agent:
        writer.shop.a.insert_one({"_id": 1})
        agent.wait_for(1)
        first = three_members.primary
        assert first is not None
        match fault:
            case "step_down":
                three_members.step_down()
            case "drop_connections":
                three_members.drop_connections()
            case "lose_and_elect":
                three_members.lose_primary()
                three_members.elect(three_members.members[1])
            case "stop":
                three_members.stop_member(first)
        write_through_election(partial(writer.shop.a.insert_one, {"_id": 2}), "the insert")
        published = agent.wait_for(2)
    assert ids(published) == [1, 2]


def test_quiet_stream_stays_resumable(
    three_members: MongoReplicaSet, writer: Client, run_agent: RunAgent
) -> None:
    """No captured collection changes, and the oplog is truncated repeatedly."""
    with run_agent(database_include_list="shop").streaming() as agent:
        writer.other.noise.insert_many([{"_id": number} for number in range(50)])
        last = three_members.write_noop()
        three_members.write_noop()
        agent.wait_until_stored(last)
    three_members.truncate_oplog()
    with run_agent(database_include_list="shop").streaming() as agent:
        writer.shop.a.insert_one({"_id": 1})
        assert ids(agent.wait_for(1)) == [1]


def test_changed_filters_lose_no_event(writer: Client, run_agent: RunAgent) -> None:
    """The filters of the second start remove the event of the stored token."""
    with run_agent(collection_include_list="shop[.]a").streaming() as agent:
        writer.shop.a.insert_many([{"_id": number} for number in range(3)])
        agent.wait_for(3)
    writer.shop.b.insert_one({"_id": 10})
    with run_agent(collection_include_list="shop[.]b") as agent:
        assert ids(agent.wait_for(1)) == [10]


@pytest.mark.parametrize(
    "scope",
    [
        pytest.param("deployment", marks=pytest.mark.slow),
        "database",
        pytest.param("collection", marks=pytest.mark.slow),
    ],
)
def test_offset_of_a_release_without_drops_is_resumed(
    scope: str, writer: Client, run_agent: RunAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first start of a later release opens the stream by time: after an invalidation, and
    within a transaction."""
    target = {"deployment": "", "database": "shop", "collection": "shop.a"}[scope]
    scoped = {"capture_scope": scope, "capture_target": target} if target else {}
    old = partial(monkeypatch.setattr, loading, "NATIVE_EVENTS", ("invalidate",))
    old()
    with run_agent(**scoped).streaming() as agent:
        writer.shop.a.insert_one({"_id": 1})
        agent.wait_for(1)
        writer.drop_database("shop")
    monkeypatch.undo()
    writer.shop.a.insert_one({"_id": 2})
    with run_agent(**scoped) as agent:
        assert ids(agent.wait_for(1)) == [2]
    old()
    sink = MemorySink(automatic=False, capacity=3)
    with run_agent(sink, **scoped, shutdown_timeout_ms=1).streaming() as agent:
        with writer.start_session() as session, session.start_transaction():
            for number in range(3, 9):
                writer.shop.a.insert_one({"_id": number}, session=session)
        assert ids(agent.wait_for(3)) == [3, 4, 5]
        sink.acknowledge()
        agent.wait_until(lambda: agent.acknowledged >= 3, "a part of the transaction")
        agent.stop_at_once()
    monkeypatch.undo()
    writer.shop.a.insert_one({"_id": 9})
    with run_agent(**scoped) as agent:
        assert ids(agent.wait_for(4)) == [6, 7, 8, 9]


def test_offset_of_another_cluster_is_rejected(
    three_members: MongoReplicaSet, writer: Client, run_agent: RunAgent, tmp_path: Path
) -> None:
    with run_agent() as agent:
        agent.wait_until_streaming()
    with MongoReplicaSet(name="other") as other:
        foreign = RunningAgent(tmp_path / "offsets", other.connection_string)
        with foreign:
            error = foreign.wait_until_ended()
    assert isinstance(error, OffsetStoreError)
    assert "to the cluster rs0" in str(error)
    assert "offset.backing.store.dir" in str(error)


def test_stream_captures_several_targets(writer: Client, run_agent: RunAgent) -> None:
    scope = {"capture_scope": "database", "capture_target": "shop,stock"}
    with run_agent(**scope).streaming() as agent:
        writer.shop.a.insert_one({"_id": 1})
        writer.stock.a.insert_one({"_id": 2})
        writer.other.a.insert_one({"_id": 3})
        agent.wait_for(2)
    writer.stock.a.insert_one({"_id": 4})
    with run_agent(**scope) as agent:
        assert ids(agent.wait_for(1)) == [4]


def test_agent_stops_while_it_waits_for_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mongo_agent.check.connection_diagnostics._LONGEST_MS", 200)
    nobody = f"mongodb://127.0.0.1:{free_port()}/?replicaSet=rs0"
    short = {"mongodb.server.selection.timeout.ms": 200, "connect.max.attempts": 100_000}
    with RunningAgent(tmp_path / "offsets", nobody, short) as agent:
        agent.wait_until(
            lambda: "does not answer" in agent.service.status.ready().message, "a sentence"
        )
        agent.stop_at_once()
        assert agent.wait_until_ended() is None


def test_heartbeats_are_published(writer: Client, run_agent: RunAgent) -> None:
    with run_agent(heartbeat_interval_ms=20) as agent:
        beat = agent.wait_for(2)[0]
    assert (beat.topic, beat.kind) == ("__debezium-heartbeat.p", "heartbeat")
    assert beat.key == {"serverName": "p"}
    assert set(beat.value) == {"ts_ms"}


def test_lost_history_ends_the_agent_with_a_remedy(
    three_members: MongoReplicaSet, writer: Client, run_agent: RunAgent
) -> None:
    with run_agent().streaming() as agent:
        writer.shop.a.insert_one({"_id": 1})
        agent.wait_for(1)
    writer.shop.a.insert_one({"_id": 2})
    three_members.truncate_oplog()
    with run_agent() as agent:
        error = agent.wait_until_ended()
    assert "history.lost.policy=resnapshot" in str(error)


def test_lost_history_is_recorded_if_the_policy_skips_it(
    three_members: MongoReplicaSet, writer: Client, run_agent: RunAgent, tmp_path: Path
) -> None:
    with run_agent().streaming() as agent:
        writer.shop.a.insert_one({"_id": 1})
        agent.wait_for(1)
    writer.shop.a.insert_one({"_id": 2})
    three_members.write_noop()
    three_members.truncate_oplog()
    with run_agent(history_lost_policy="skip").streaming() as agent:
        writer.shop.a.insert_one({"_id": 3})
        assert ids(agent.wait_for(1)) == [3]
    gaps = (tmp_path / "offsets" / "quarantine" / "gaps.ndjson").read_text()
    assert '"since"' in gaps
