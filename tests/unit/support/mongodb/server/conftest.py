"""One simulated member for all tests and a client for each, or a real server if configured."""

from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient

from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.mongodb.server.given import drop_databases, given_server, needs_own_server


@pytest.fixture(scope="session")
def shared_set() -> Iterator[MongoReplicaSet]:
    with MongoReplicaSet() as started:
        yield started


@pytest.fixture
def replica_set() -> Iterator[MongoReplicaSet]:
    """A replica set for one test, which injects faults or elections."""
    needs_own_server()
    with MongoReplicaSet() as started:
        yield started


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    """A client of the test's own set, or of a shared set without databases."""
    server = "replica_set" if "replica_set" in request.fixturenames else "shared_set"
    target = given_server() or request.getfixturevalue(server).connection_string
    drop_databases(target)
    # A fail point has no effect that a member would report immediately.
    with MongoClient[dict[str, Any]](target, heartbeatFrequencyMS=500) as connected:
        yield connected
