"""One member for all tests, and a client for each; or a real server, where one is given."""

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
    """Of its test alone, which gives it faults or elections."""
    needs_own_server()
    with MongoReplicaSet() as started:
        yield started


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    """A client of the test's own set, else of a shared one without databases."""
    server = "replica_set" if "replica_set" in request.fixturenames else "shared_set"
    target = given_server() or request.getfixturevalue(server).connection_string
    drop_databases(target)
    # A fail point changes nothing that a member would report at once.
    with MongoClient[dict[str, Any]](target, heartbeatFrequencyMS=500) as connected:
        yield connected
