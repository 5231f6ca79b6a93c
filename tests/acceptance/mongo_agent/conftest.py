"""A replica set with a shop and a broker, for all tests of the commands."""

from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient

from tests.support.mongodb.agent_command import CDC, FINDER, ROOT
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.servers.kafka import KafkaBroker


@pytest.fixture(scope="package")
def replica_set() -> Iterator[MongoReplicaSet]:
    with (
        MongoReplicaSet(users=[ROOT, CDC, FINDER]) as started,
        MongoClient[dict[str, Any]](
            started.connection_string, username=ROOT.name, password=ROOT.password
        ) as root,
    ):
        root.shop.orders.insert_one({"_id": 1})
        root.shop.create_collection("log", capped=True, size=1000)
        root.shop.create_collection("big_orders", viewOn="orders", pipeline=[])
        root.crm.people.insert_one({"_id": 2})
        yield started


@pytest.fixture
def hosts(replica_set: MongoReplicaSet) -> str:
    """As `mongodb.hosts` names it."""
    return f"rs0/{replica_set.members[0]}"


@pytest.fixture(scope="package")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """Each test has topics of its own."""
    with KafkaBroker(tmp_path_factory.mktemp("kafka"), heap_mib=256) as started:
        yield started
