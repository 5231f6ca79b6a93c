"""Servers, their clients, and an agent of a replica set."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.mongodb.proxy import MongoProxy
from tests.support.mongodb.running_agent import RunAgent, RunningAgent
from tests.support.mongodb.server import MongoReplicaSet, MongoShardedCluster
from tests.support.mongodb.server.client import Client
from tests.support.sinks.memory_sink import MemorySink


@pytest.fixture(autouse=True)
def hasty_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an error the driver queries a server again at once instead of every 500 ms."""
    monkeypatch.setattr("pymongo.common.MIN_HEARTBEAT_INTERVAL", 0.02)


@pytest.fixture
def three_members() -> Iterator[MongoReplicaSet]:
    with MongoReplicaSet(members=3) as started:
        yield started


@pytest.fixture
def writer(three_members: MongoReplicaSet) -> Iterator[Client]:
    with Client(three_members.connection_string) as connected:
        yield connected


@pytest.fixture
def run_agent(tmp_path: Path, three_members: MongoReplicaSet) -> RunAgent:
    """Property names contain `_` for `.`; each agent resumes where the last one stopped."""

    def run(sink: MemorySink | None = None, **properties: Any) -> RunningAgent:
        string = three_members.connection_string
        return RunningAgent(tmp_path / "offsets", string, sink=sink, **properties)

    return run


@pytest.fixture(scope="module")
def servers() -> Iterator[MongoReplicaSet]:
    """One member for the tests of a file; `shop` provides each test with an empty database."""
    with MongoReplicaSet() as started:
        yield started


@pytest.fixture
def shop(servers: MongoReplicaSet) -> Iterator[Client]:
    with Client(servers.connection_string) as connected:
        connected.drop_database("shop")
        yield connected


@pytest.fixture
def proxy(servers: MongoReplicaSet) -> Iterator[MongoProxy]:
    with MongoProxy(servers.members[0]) as started:
        yield started


@pytest.fixture
def cluster() -> Iterator[MongoShardedCluster]:
    with MongoShardedCluster() as started:
        yield started


@pytest.fixture
def router(cluster: MongoShardedCluster) -> Iterator[Client]:
    """Client with a sharded collection."""
    with Client(cluster.connection_string) as client:
        client.admin.command("shardCollection", "shop.orders", key={"region": 1})
        yield client
