"""A standby takes over after each fault: a read-committed consumer sees each change once and in
order.

`pytest tests/integration/mongo_agent/slow_standby_faults.py`
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pymongo import MongoClient

from tests.support.mongodb.agent_process import MongoAgentProcess
from tests.support.mongodb.server import MongoReplicaSet, MongoShardedCluster
from tests.support.mongodb.standby_agents import (
    BROKER_PROPERTIES,
    NumberedWrites,
    StandbyAgents,
    Takeover,
    freeze,
    role_of,
    status_of,
    takeover,
)
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import wait_until

pytestmark = pytest.mark.servers

TASKS = "tasks"


@pytest.fixture(scope="module")
def replica_set() -> Iterator[MongoReplicaSet]:
    with MongoReplicaSet(members=3) as started:
        yield started


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    directory = tmp_path_factory.mktemp("standby") / "kafka"
    with KafkaBroker(directory, heap_mib=256, properties=BROKER_PROPERTIES) as started:
        yield started


@pytest.fixture
def running(
    tmp_path: Path,
    replica_set: MongoReplicaSet,
    broker: KafkaBroker,
    request: pytest.FixtureRequest,
) -> Iterator[Takeover]:
    prefix = request.node.name.removeprefix("test_").replace("_", "")
    with takeover(tmp_path, replica_set, broker, prefix) as started:
        yield started


def has_role(agent: MongoAgentProcess, role: str) -> bool:
    return role_of(agent) == role


def test_standby_replaces_a_stopped_leader(running: Takeover) -> None:
    leader, standby = running.agents.wait_for_pair()
    leader.stop()
    running.agents.wait_until_leading(standby)
    running.finish(standby)


def test_frozen_leader_commits_nothing_after_it_resumes(running: Takeover) -> None:
    """The resumed process still believes that it leads, and must not commit anything."""
    leader, standby = running.agents.wait_for_pair()
    thaw = freeze(leader)
    running.agents.wait_until_leading(standby)
    running.writes.wait_for_more()
    thaw()
    leader.wait_until(partial(has_role, leader, "standby"), "the former leader on standby", 120)
    leader.wait_until(lambda: leader.metric("cdc_stream_open") is None, "a closed stream", 120)
    running.finish(standby)


def test_leader_fences_an_agent_outside_the_group(running: Takeover) -> None:
    """The outsider fences the leader, which leaves the group, leads again and fences it."""
    outsider = running.agents.agent("outsider", standby_enabled="false")
    outsider.launch()
    wait_until(lambda: outsider.exit_status is not None, "the end of the third agent")
    assert outsider.exit_status == 3, outsider.log_tail()
    leader, _ = running.agents.wait_for_pair()
    running.finish(leader)


def test_standby_group_survives_a_broker_outage(running: Takeover, broker: KafkaBroker) -> None:
    """Both agents lose their session; afterwards one of them leads."""
    running.agents.wait_for_pair()
    broker.stop()
    for agent in running.agents.agents:
        agent.wait_until(partial(has_role, agent, "candidate"), "no session", 120)
        found = {each["code"] for each in status_of(agent)["conditions"]}
        assert "not_in_group" in found
        assert agent.metric("cdc_leader") == agent.metric("cdc_sink_up") == 0
    broker.start()
    leader, _ = running.agents.wait_for_pair()
    running.finish(leader)


def test_standby_survives_server_election(running: Takeover, replica_set: MongoReplicaSet) -> None:
    leader, standby = running.agents.wait_for_pair()
    replica_set.step_down()
    leader.kill()
    running.agents.wait_until_leading(standby)
    running.finish(standby)


@pytest.fixture
def cluster() -> Iterator[MongoShardedCluster]:
    with MongoShardedCluster() as started:
        yield started


def task(
    directory: Path, cluster: MongoShardedCluster, broker: KafkaBroker, number: int
) -> StandbyAgents:
    properties = {
        "mongodb.connection.mode": "replica_set",
        "tasks.max": 2,
        "task.id": number,
        "position.topic": "positions",
    }
    return StandbyAgents(directory / f"task{number}", cluster, broker, TASKS, properties)


def test_standby_replaces_the_task_of_a_shard(
    tmp_path: Path, cluster: MongoShardedCluster, broker: KafkaBroker
) -> None:
    """Another agent resumes from the position in Kafka. Each task has its own leader, position and
    transactional id, so the other task continues."""
    with MongoClient[dict[str, object]](cluster.connection_string) as client:
        client.admin.command("shardCollection", f"{TASKS}.a", key={"_id": 1})
    tasks = [task(tmp_path, cluster, broker, number) for number in range(2)]
    with tasks[0], tasks[1]:
        (first, standby), (second, _) = (each.wait_for_pair() for each in tasks)
        with NumberedWrites(cluster, TASKS) as writes:
            writes.wait_for_more()
            first.kill()
            tasks[0].wait_until_leading(standby)
            writes.wait_for_more()
            writes.stop()
        tasks[0].wait_until_committed(writes.written)
        committed = tasks[0].committed()
        assert second.metric("cdc_leader") == 1
        published = [each.metric("cdc_events_total") for each in (standby, second)]
    assert sorted(committed) == list(range(writes.written))
    assert all(published)
    keys = {str(record.key) for record in broker.consume_all("positions")}
    assert keys == {f"b'{TASKS}.shard{number}'" for number in range(2)}
