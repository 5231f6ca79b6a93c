"""Collections that a cluster reshards, moves and unshards during their snapshot and afterwards."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoShardedCluster
from tests.support.mongodb.server.client import Client
from tests.support.seeds import draw_seed

SCOPES = {
    "deployment": {},
    "database": {"capture.scope": "database", "capture.target": "shop"},
    "collection": {"capture.scope": "collection", "capture.target": "shop.orders"},
}
# What a cluster tells itself reaches an agent whose filter the operator replaced.
EVERYTHING = {"cursor.pipeline.order": "user_only", "cursor.pipeline": '[{"$match": {}}]'}
SETTINGS: dict[str, Any] = {
    "snapshot.mode": "initial",
    "incremental.snapshot.chunk.size": 2,
    "snapshot.max.threads": 1,
}
COUNT = 40


class Cluster:
    """Writes and placements in a random order."""

    def __init__(self, router: Client, seed: int) -> None:
        self._random = random.Random(seed)
        self._router = router
        self._is_sharded = False
        self._value = 0

    def write(self, count: int) -> None:
        for _ in range(count):
            self._value += 1
            key = self._random.randrange(COUNT)
            document = {"_id": key, "region": key % 3, "n": key % 5, "value": self._value}
            if self._random.randrange(5):
                self._router.shop.orders.replace_one({"_id": key}, document, upsert=True)
            else:
                self._router.shop.orders.delete_one({"_id": key})

    def place(self) -> None:
        """Shard an unsharded collection or move it; reshard a sharded one or unshard it."""
        shard = f"shard{self._random.randrange(2)}"
        if not self._is_sharded and self._random.randrange(2):
            self._command("moveCollection", toShard=shard)
        elif not self._is_sharded:
            self._command("shardCollection", key={"region": 1})
            self._is_sharded = True
        elif self._random.randrange(2):
            self._command("reshardCollection", key={self._random.choice(("n", "region")): 1})
        else:
            self._command("unshardCollection", toShard=shard)
            self._is_sharded = False

    def _command(self, name: str, **more: Any) -> None:
        self._router.admin.command(name, "shop.orders", **more)


def settle(agent: RunningAgent, cluster: MongoShardedCluster) -> None:
    """Wait until the position and the snapshots have passed everything that happened."""
    last = cluster.write_noop()

    def is_settled() -> bool:
        # A cluster without writes moves its time so.
        cluster.write_noop()
        stored = agent.service.status.offsets()["stored"]
        assert isinstance(stored, Mapping)
        values = {str(name).rpartition("/")[2]: str(value) for name, value in stored.items()}
        second, _, increment = values.get("cluster.time", "0:0").partition(":")
        copies = json.loads(values.get("copies", '{"collections": true}'))
        is_copied = not copies.get("collections") and not copies.get("requests")
        return is_copied and (int(second), int(increment)) > (last.time, last.inc)

    agent.wait_until(is_settled, "the end of snapshots and stream")


@pytest.mark.parametrize(
    ("version", "scope", "filters"),
    [
        ("8.0.4", "deployment", {}),
        ("8.2.11", "database", {}),
        ("9.0.4", "collection", {}),
        ("9.0.4", "deployment", EVERYTHING),
    ],
)
def test_placement_changes_lose_nothing(
    tmp_path: Path, version: str, scope: str, filters: dict[str, str]
) -> None:
    properties = {**SETTINGS, **SCOPES[scope], **filters}
    with (
        MongoShardedCluster(version=version) as cluster,
        Client(cluster.connection_string) as router,
    ):
        changes = Cluster(router, draw_seed())
        changes.write(2 * COUNT)
        with RunningAgent(tmp_path, cluster.connection_string, properties) as agent:
            for _ in range(8):
                changes.place()
                changes.write(5)
            agent.wait_until_streaming()
            for _ in range(4):
                changes.place()
                changes.write(5)
            settle(agent, cluster)
            state = {each.id: each.after for each in agent.of_documents()}
            found = {key: document for key, document in state.items() if document is not None}
            assert found == {each["_id"]: each for each in router.shop.orders.find()}
            assert agent.service.status.status().conditions == ()
