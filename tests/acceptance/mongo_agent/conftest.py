"""A replica set with a shop, for all tests of the commands."""

from collections.abc import Iterator
from functools import partial

import pytest

from sidecar.check.broker import ask_broker
from tests.support.mongodb.agent_command import CDC, FINDER, ROOT
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client


@pytest.fixture(scope="package")
def replica_set() -> Iterator[MongoReplicaSet]:
    with (
        MongoReplicaSet(users=[ROOT, CDC, FINDER]) as started,
        Client(started.connection_string, username=ROOT.name, password=ROOT.password) as root,
    ):
        root.shop.orders.insert_one({"_id": 1})
        root.shop.create_collection("log", capped=True, size=1000)
        root.shop.create_collection("big_orders", viewOn="orders", pipeline=[])
        root.crm.people.insert_one({"_id": 2})
        yield started


@pytest.fixture
def hosts(replica_set: MongoReplicaSet) -> str:
    """Address in the format of `mongodb.hosts`."""
    return f"rs0/{replica_set.members[0]}"


@pytest.fixture
def no_server(monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """Settings of a client without a server, so that no test waits for one."""
    monkeypatch.setattr("mongo_agent.check.probe.ANSWER_S", 0.2)
    return {"mongodb.server.selection.timeout.ms": "200"}


@pytest.fixture
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """No broker answers, so `check` does not wait for one."""
    monkeypatch.setattr("mongo_agent.check.probe.ask_broker", partial(ask_broker, timeout_s=0.2))
