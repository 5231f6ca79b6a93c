"""Sharded clusters: one agent beside a mongos, or one beside each shard where that is asked for."""

from pathlib import Path
from typing import Any

from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoShardedCluster
from tests.support.mongodb.server.client import Client


def test_a_mongos_gives_all_shards_in_one_order(
    tmp_path: Path, cluster: MongoShardedCluster, router: Client
) -> None:
    """What is there is copied, what changes follows, and a restart goes on."""
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


def test_sharded_collections_are_copied_through_a_mongos_first(
    tmp_path: Path, cluster: MongoShardedCluster, router: Client
) -> None:
    """The way of docs/how-to/mongodb-snapshots.md: every document ends in its present state."""
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
