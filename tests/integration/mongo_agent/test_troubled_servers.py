"""Health, metrics and log during faults of the servers."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from mongo_agent.change_stream.recovery import HistoryLostError
from sidecar.health.condition import Component
from tests.support.mongodb.running_agent import RunAgent, RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client, write_through_election
from tests.support.sinks.memory_sink import MemorySink


def part(agent: RunningAgent, name: str = "stream") -> Component:
    return next(each for each in agent.service.status.health().components if each.name == name)


def metric(agent: RunningAgent, name: str) -> float:
    found = re.search(rf"^{name}(?:{{.*?}})? (\S+)$", agent.service.status.metrics().decode(), re.M)
    assert found is not None, name
    return float(found[1])


def fail_streams(
    servers: MongoReplicaSet, mode: str, code: int = 6, labels: tuple[str, ...] = ()
) -> None:
    """On every member, so that no stream can be opened or read; `mode` is alwaysOn or off."""
    data = {"failCommands": ["aggregate", "getMore"], "errorCode": code}
    if labels:
        data["errorLabels"] = list(labels)
    for address in servers.members:
        with Client(f"mongodb://{address}/?directConnection=true") as client:
            client.admin.command("configureFailPoint", "failCommand", mode=mode, data=data)


def test_server_election_is_counted_and_logged(
    three_members: MongoReplicaSet,
    writer: Client,
    run_agent: RunAgent,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    with run_agent().streaming() as agent:
        writer.shop.a.insert_one({"_id": 1})
        agent.wait_for(1)
        assert metric(agent, "cdc_elections_total") == 0
        three_members.step_down()
        agent.wait_until(lambda: metric(agent, "cdc_elections_total") == 1, "the election")
        agent.wait_until_streaming()
        agent.wait_until(lambda: part(agent).details.get("elections") == 1, "it in /health")
        write_through_election(partial(writer.shop.b.insert_one, {"_id": 2}), "the insert")
        assert [each.id for each in agent.wait_for(2)] == [1, 2]
    said = [record.message for record in caplog.records]
    assert said.count("another member became primary") == 1


def test_loss_that_only_a_label_reports_ends_the_agent(
    three_members: MongoReplicaSet, run_agent: RunAgent
) -> None:
    """Since 8.3, a router reports a removed shard with a code of its own."""
    with run_agent().streaming() as agent:
        fail_streams(three_members, "alwaysOn", 999, ("NonResumableChangeStreamError",))
        assert isinstance(agent.wait_until_ended(), HistoryLostError)


def test_overloaded_server_is_retried_without_loss(
    three_members: MongoReplicaSet, writer: Client, run_agent: RunAgent
) -> None:
    labels = ("RetryableError", "SystemOverloadedError")
    with run_agent().streaming() as agent:
        fail_streams(three_members, "alwaysOn", 462, labels)
        writer.shop.a.insert_one({"_id": 1})
        agent.wait_until(lambda: not part(agent).ok, "the failure")
        fail_streams(three_members, "off")
        assert [each.id for each in agent.wait_for(1)] == [1]


@pytest.fixture
def lively() -> Iterator[MongoReplicaSet]:
    """Its cluster time advances continuously; on real servers, every ten seconds."""
    with MongoReplicaSet(members=3, noop_interval_s=0.05) as started:
        yield started


def test_lost_majority_is_reported_within_the_limit(
    lively: MongoReplicaSet, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    limit = {"stream.stall.warning.ms": 1000}
    with RunningAgent(tmp_path / "offsets", lively.connection_string, limit).streaming() as agent:
        with lively.stalled_majority():
            agent.wait_until(lambda: "has not advanced" in part(agent).message, "the stall")
            assert "majority of members. Check `rs.status()`" in part(agent).message
            assert not part(agent).ok
            assert float(str(part(agent).details["stalled_s"])) > 1
            # Streams are open and deliver events: the agent stays ready.
            assert agent.service.status.ready().ok
        agent.wait_until(lambda: part(agent).ok, "the end of the stall")
    said = [record.message for record in caplog.records]
    assert any("has not advanced" in each for each in said)


def test_oplog_past_the_position_is_reported_before_a_restart(
    three_members: MongoReplicaSet, writer: Client, run_agent: RunAgent
) -> None:
    sink = MemorySink(automatic=False)
    with run_agent(sink, stream_lag_warning_ms=400).streaming() as agent:
        writer.shop.a.insert_one({"_id": 1})
        agent.wait_for(1)
        three_members.pass_time(100)
        three_members.write_noop()
        three_members.truncate_oplog()
        agent.wait_until(lambda: "The oplog starts" in part(agent).message, "the warning")
        assert "a restart before the events are delivered would lose changes" in part(agent).message
        assert metric(agent, "cdc_oplog_headroom_seconds") <= -99
        sink.acknowledge()
        writer.shop.a.insert_one({"_id": 2})
        agent.wait_for(2)
        sink.acknowledge()
        agent.wait_until(lambda: metric(agent, "cdc_oplog_headroom_seconds") >= 0, "the end of it")


def lose_history(servers: MongoReplicaSet, writer: Client, agent: RunningAgent) -> None:
    """Lose the history while the agent runs and reaches no member."""
    writer.shop.a.insert_one({"_id": 1})
    agent.wait_for(1)
    fail_streams(servers, "alwaysOn")
    agent.wait_until(lambda: not agent.service.status.ready().ok, "a stream that is not read")
    writer.shop.a.insert_one({"_id": 2})
    servers.write_noop()
    servers.truncate_oplog()
    fail_streams(servers, "off")


def test_history_lost_at_run_time_ends_the_agent(
    three_members: MongoReplicaSet, writer: Client, run_agent: RunAgent
) -> None:
    with run_agent(connect_max_attempts=100_000).streaming() as agent:
        lose_history(three_members, writer, agent)
        error = agent.wait_until_ended()
    assert isinstance(error, HistoryLostError)
    assert error.exit_code == 1
    assert "cannot resume at the stored offset" in str(error)
    assert "`history.lost.policy=resnapshot`" in str(error)


def test_history_lost_at_run_time_triggers_a_snapshot(
    three_members: MongoReplicaSet, writer: Client, run_agent: RunAgent
) -> None:
    with run_agent(
        connect_max_attempts=100_000, history_lost_policy="resnapshot"
    ).streaming() as agent:
        lose_history(three_members, writer, agent)
        published = agent.wait_for(3)
        gaps = 'cdc_quarantined_total{reason="gap"} 1.0'
        assert gaps in agent.service.status.metrics().decode()
    assert [(each.kind, each.id) for each in published] == [("insert", 1), ("read", 1), ("read", 2)]
