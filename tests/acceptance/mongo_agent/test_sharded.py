"""`mongo-agent` with a mongos, and with one shard."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pymongo import MongoClient

from tests.support.mongodb.agent_command import CDC, ROOT, configuration, mongo_agent
from tests.support.mongodb.server import MongoReplicaSet, MongoShardedCluster, User

READER = User("reader", "open", (("readAnyDatabase", "admin"),))
CONFIG_READER = User("lister", "open", (("readAnyDatabase", "admin"), ("read", "config")))


@pytest.fixture(scope="module")
def cluster() -> Iterator[MongoShardedCluster]:
    with (
        MongoShardedCluster(users=[ROOT, READER]) as started,
        MongoClient[dict[str, object]](
            started.connection_string, username=ROOT.name, password=ROOT.password
        ) as root,
    ):
        root.shop.orders.insert_one({"_id": 1})
        yield started


def of(folder: Path, connection_string: str, user: User, **changes: str | None) -> Path:
    settings: dict[str, str | None] = {
        "mongodb.hosts": None,
        "mongodb.connection.string": connection_string,
        **{name.replace("__", "."): value for name, value in changes.items()},
    }
    return configuration(folder, "", user, settings)


def test_check_recognizes_a_mongos(tmp_path: Path, cluster: MongoShardedCluster) -> None:
    done = mongo_agent("check", "--config", of(tmp_path, cluster.connection_string, READER))
    assert done.exit_code == 0, done.output
    assert ": mongos." in done.output
    assert "`find` on config.version, to identify the cluster" in done.output
    assert "oplog" not in done.output
    planned = mongo_agent("plan", "--config", of(tmp_path, cluster.connection_string, READER))
    assert re.search(r"shop\.orders +collection +yes +yes", planned.output)


def test_mongos_is_rejected_if_replica_set_is_configured(
    tmp_path: Path, cluster: MongoShardedCluster
) -> None:
    path = of(tmp_path, cluster.connection_string, READER, mongodb__deployment="replica_set")
    done = mongo_agent("run", "--config", path)
    assert done.exit_code == 2
    assert "`mongodb.deployment=replica_set`, but a mongos answers" in done.errors


def test_shard_is_rejected_unless_explicitly_configured(
    tmp_path: Path, cluster: MongoShardedCluster
) -> None:
    shard = cluster.shards[0].connection_string
    done = mongo_agent("run", "--config", of(tmp_path, shard, ROOT))
    assert done.exit_code == 2
    assert "is a shard of a sharded cluster. Name a mongos" in done.errors
    path = of(tmp_path, shard, ROOT, mongodb__deployment="shard")
    checked = mongo_agent("check", "--config", path)
    assert checked.exit_code == 0, checked.output
    assert "events of different shards are ordered only by time" in checked.output


def test_shard_without_direct_operation_privilege_is_a_fault(tmp_path: Path) -> None:
    with (
        MongoShardedCluster(
            users=[ROOT, READER], version="8.0.4", refuses_direct_operations=True
        ) as cluster,
        MongoClient[dict[str, object]](
            cluster.connection_string, username=ROOT.name, password=ROOT.password
        ) as root,
    ):
        root.shop.orders.insert_one({"_id": 1})
        shard = cluster.shards[0].connection_string
        path = of(tmp_path, shard, READER, mongodb__deployment="shard")
        done = mongo_agent("check", "--config", path)
    assert done.exit_code == 1
    assert "`issueDirectShardOperations` on the cluster, to read from a shard" in done.output


def test_only_shard_tasks_need_the_direct_operation_privilege(tmp_path: Path) -> None:
    mode = {"mongodb__connection__mode": "replica_set"}
    with MongoReplicaSet(users=[CDC], version="8.0.4") as replica_set:
        plain = of(tmp_path, replica_set.connection_string, CDC, **mode)
        done = mongo_agent("check", "--config", plain)
    assert "issueDirectShardOperations" not in done.output
    with MongoShardedCluster(users=[CONFIG_READER], version="8.0.4") as cluster:
        tasks = {"tasks__max": "2", "task__id": "1"}
        path = of(tmp_path, cluster.connection_string, CONFIG_READER, **mode, **tasks)
        done = mongo_agent("check", "--config", path)
        assert ": replica set shard1." in done.output
        assert "`issueDirectShardOperations` on the cluster" in done.output
        assert "Task 1 reads shard1; all 2 have a task." in done.output
