"""A replica set of two members, and a client, for each test."""

from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient

from mongo_agent.server.commands import Client
from tests.support.mongodb.server import MongoReplicaSet


@pytest.fixture
def replica_set() -> Iterator[MongoReplicaSet]:
    # The agent knows a snapshot position once the time advances, which happens by itself only after
    # a while.
    with MongoReplicaSet(members=2, noop_interval_s=0.02) as started:
        yield started


@pytest.fixture
def client(replica_set: MongoReplicaSet) -> Iterator[Client]:
    # After the notice of a shutdown, the driver queries again after this time.
    with MongoClient[Any](replica_set.connection_string, heartbeatFrequencyMS=50) as connected:
        yield connected
