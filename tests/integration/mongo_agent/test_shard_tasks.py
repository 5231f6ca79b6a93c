"""One agent for a mongos, or one agent per shard: `mongodb.connection.mode`."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mongo_agent.check.probe import open_probe
from mongo_agent.check.server import check_shards
from mongo_agent.config.shard_assignment import assign_shard
from sidecar.check.check import Finding
from sidecar.errors import AccessDeniedError, ConfigError
from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoShardedCluster, Privilege, User
from tests.support.mongodb.server.client import Client

ROOT = User("root", "open")
POOR = User("poor", "open", (), (Privilege(("find", "changeStream"), "shop"),))


def task(folder: Path, address: str, number: int, tasks: int, **properties: Any) -> RunningAgent:
    values = {
        "mongodb.connection.mode": "replica_set",
        "mongodb.poll.interval.ms": 20,
        "tasks.max": tasks,
        "task.id": number,
    }
    return RunningAgent(folder / f"task{number}", address, values, **properties)


def insert(router: Client, numbers: Sequence[int]) -> None:
    router.shop.orders.insert_many([{"_id": number, "region": number} for number in numbers])


def ids(*agents: RunningAgent) -> list[int]:
    return sorted(each.id for agent in agents for each in agent.published)


def has(count: int, *agents: RunningAgent) -> bool:
    return len(ids(*agents)) == count


def findings(agent: RunningAgent) -> list[Finding]:
    with open_probe(agent.configuration()) as probe:
        return list(check_shards(probe.config))


@pytest.mark.parametrize("seeds", ["mongos", "config servers"])
def test_each_task_reads_its_shard(
    tmp_path: Path, cluster: MongoShardedCluster, router: Client, seeds: str
) -> None:
    is_mongos = seeds == "mongos"
    address = (cluster if is_mongos else cluster.config_server).connection_string
    for numbers in (range(20), range(20, 40)):
        first, second = (task(tmp_path, address, number, 2) for number in range(2))
        with first, second:
            first.wait_until_streaming()
            second.wait_until_streaming()
            insert(router, numbers)
            first.wait_until(partial(has, 20, first, second), "all inserts")
        assert ids(first, second) == list(numbers)
        assert first.published
        assert second.published
        for number, agent in enumerate((first, second)):
            stored = str(agent.service.status.offsets()["stored"])
            assert f"'cluster': 'shard{number}'" in stored
    assert [each.code for each in findings(first)] == ["shards_ok"]


def test_quiet_shard_has_heartbeats_and_moving_position(
    tmp_path: Path, cluster: MongoShardedCluster, router: Client
) -> None:
    """Otherwise the position of a shard without captured changes would leave its oplog."""
    agents = [
        task(tmp_path, cluster.connection_string, number, 2, heartbeat_interval_ms=20)
        for number in range(2)
    ]
    with agents[0], agents[1]:
        for agent in agents:
            agent.wait_until_streaming()
        router.quiet.noise.insert_one({"_id": 1})
        last = cluster.write_noop()
        cluster.write_noop()
        for agent in agents:
            agent.wait_until_stored(last)
            agent.wait_for(len(agent.published) + 2)
            assert {each.kind for each in agent.published} <= {"heartbeat", "insert"}


def test_spare_task_reads_an_added_shard_completely(
    tmp_path: Path, cluster: MongoShardedCluster, router: Client
) -> None:
    agents = [task(tmp_path, cluster.connection_string, number, 3) for number in range(3)]
    with agents[0], agents[1], agents[2]:
        for agent in agents[:2]:
            agent.wait_until_streaming()
        spare = agents[2]
        assert "waits for a shard" in findings(spare)[0].message
        assert not spare.has_begun
        cluster.add_shard()
        insert(router, range(30))
        spare.wait_until(lambda: len(ids(*agents)) == 30, "all inserts")
    assert ids(*agents) == list(range(30))
    assert spare.published


def test_task_added_later_loses_no_change(
    tmp_path: Path, cluster: MongoShardedCluster, router: Client
) -> None:
    begin = router.admin.command("ping")["operationTime"]
    since = {"capture_start_op_time": f"{begin.time}:{begin.inc}"}
    address = cluster.connection_string
    agents = [task(tmp_path, address, number, 2, **since) for number in range(2)]
    with agents[0], agents[1]:
        for agent in agents:
            agent.wait_until_streaming()
        cluster.add_shard()
        insert(router, range(30))
        (finding,) = findings(agents[0])
        assert finding.code == "shard_without_task"
        assert "1 of 3 shards have no task: shard2" in finding.message
        added = task(tmp_path, address, 2, 3, **since)
        with added:
            added.wait_until(lambda: len(ids(*agents, added)) == 30, "all inserts")
    assert ids(*agents, added) == list(range(30))


def test_shard_without_a_task_degrades_other_tasks(tmp_path: Path) -> None:
    with (
        MongoShardedCluster(shards=2) as cluster,
        task(tmp_path, cluster.connection_string, 0, 1) as agent,
    ):
        status = agent.service.status
        agent.wait_until(lambda: "shard_without_task" in str(status.status()), "the condition")
        found = [each for each in status.status().conditions if each.code == "shard_without_task"]
        assert found[0].state.name == "DEGRADED"


def test_removed_shard_is_read_to_its_end(
    tmp_path: Path, cluster: MongoShardedCluster, router: Client
) -> None:
    agent = task(tmp_path, cluster.connection_string, 1, 2)
    config = assign_shard(agent.configuration(), 10_000).config
    assert config is not None
    with agent:
        agent.wait_until_streaming()
        cluster.remove_shard("shard1")
        (finding,) = check_shards(config)
        assert finding.code == "shard_removed"
        insert(router, range(20))
        agent.wait_until(lambda: bool(agent.published), "its changes")


def test_plain_replica_set_has_one_task(tmp_path: Path, cluster: MongoShardedCluster) -> None:
    shard = cluster.shards[0].connection_string
    first, second = (task(tmp_path, shard, number, 2) for number in range(2))
    with first, second:
        first.wait_until_streaming()
        assert not second.has_begun


def test_sharded_mode_requires_a_mongos(
    tmp_path: Path, cluster: MongoShardedCluster, router: Client
) -> None:
    mode = {"mongodb.connection.mode": "sharded"}
    with RunningAgent(tmp_path / "a", cluster.connection_string, mode).streaming() as agent:
        insert(router, range(10))
        agent.wait_for(10)
    for number, address in enumerate((cluster.config_server, cluster.shards[0])):
        with RunningAgent(tmp_path / str(number), address.connection_string, mode) as agent:
            error = agent.wait_until_ended()
        assert isinstance(error, ConfigError)
        assert "Name a mongos" in str(error)
    with RunningAgent(tmp_path / "c", cluster.config_server.connection_string, mode) as agent:
        assert cluster.connection_string.split("/")[2] in str(agent.wait_until_ended())


def test_missing_right_to_list_shards_is_reported(tmp_path: Path) -> None:
    with MongoShardedCluster(users=[ROOT, POOR]) as cluster:
        login = {"mongodb_user": POOR.name, "mongodb_password": POOR.password}
        denied = {"access_denied_action": "exit"}
        with task(tmp_path, cluster.connection_string, 0, 2, **login, **denied) as agent:
            error = agent.wait_until_ended()
    assert isinstance(error, AccessDeniedError)
    assert "Grant `find` on config.shards" in str(error)
    assert "mongodb.connection.mode=sharded" in str(error)


def test_mongos_stream_orders_events_of_all_shards(
    tmp_path: Path, cluster: MongoShardedCluster, router: Client
) -> None:
    """Existing documents are copied, later changes follow, and a restart resumes."""
    orders = router.shop.orders
    orders.insert_many([{"_id": number, "region": number % 4} for number in range(20)])
    properties = {"snapshot.mode": "initial", "incremental.snapshot.chunk.size": 6}
    directory = tmp_path / "offsets"
    with RunningAgent(directory, cluster.connection_string, properties) as agent:
        assert [each.id for each in agent.wait_for(20)] == list(range(20))
        agent.wait_until(lambda: not agent.is_snapshot_running, "the end of the copy")
        for number in range(20, 30):
            orders.insert_one({"_id": number, "region": number % 4})
        orders.delete_one({"_id": 3, "region": 3})
        published = agent.wait_for(32)[20:]
    assert [each.id for each in published] == [*range(20, 30), 3, 3]
    assert [each.kind for each in published[-2:]] == ["delete", "tombstone"]
    assert published[-1].key == published[-2].key == {"id": "3"}
    orders.insert_one({"_id": 30, "region": 0})
    with RunningAgent(directory, cluster.connection_string, properties) as agent:
        assert [each.id for each in agent.wait_for(1)] == [30]


def test_shard_agents_complete_a_snapshot_through_a_mongos(
    tmp_path: Path, cluster: MongoShardedCluster, router: Client
) -> None:
    """Procedure of docs/how-to/mongodb-snapshots.md: every document ends in its current state."""
    orders = router.shop.orders
    orders.insert_many([{"_id": number, "region": number, "n": 0} for number in range(12)])
    begin = router.admin.command("ping")["operationTime"]
    orders.update_one({"_id": 1, "region": 1}, {"$set": {"n": 1}})
    copying = {"snapshot.mode": "initial_only"}
    with RunningAgent(tmp_path / "copy", cluster.connection_string, copying) as copy:
        assert copy.wait_until_ended() is None
    orders.update_one({"_id": 2, "region": 2}, {"$set": {"n": 2}})
    orders.delete_one({"_id": 3, "region": 3})
    beside = {
        "mongodb.deployment": "shard",
        "snapshot.mode": "no_data",
        "capture.start.op.time": f"{begin.time}:{begin.inc}",
    }
    first, second = (
        RunningAgent(tmp_path / shard.name, shard.connection_string, beside)
        for shard in cluster.shards
    )
    with first, second:
        first.wait_until(
            lambda: len(first.of_documents()) + len(second.of_documents()) >= 3, "the changes"
        )
    last: dict[int, Any] = {}
    for agent in (copy, first, second):
        last |= {each.id: each.after for each in agent.of_documents()}
    present = {number: orders.find_one({"_id": number}) for number in range(12)}
    assert last == present
