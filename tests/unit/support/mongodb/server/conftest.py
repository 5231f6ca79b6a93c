"""One member for all tests, and a client for each; or a real server, where one is given."""

from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient

from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.mongodb.server.given import NEEDS_FAULTS, drop_databases, given_server


@pytest.fixture(scope="session")
def given_target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str | None]:
    with given_server(tmp_path_factory.mktemp("mongod")) as target:
        yield target


@pytest.fixture(scope="session")
def shared_set() -> Iterator[MongoReplicaSet]:
    with MongoReplicaSet() as started:
        yield started


@pytest.fixture
def replica_set(given_target: str | None) -> Iterator[MongoReplicaSet]:
    """Of its test alone, which gives it faults or elections."""
    if given_target is not None:
        pytest.skip(NEEDS_FAULTS)
    with MongoReplicaSet() as started:
        yield started


@pytest.fixture
def client(request: pytest.FixtureRequest, given_target: str | None) -> Iterator[Client]:
    """A client of the test's own set, else of a shared one without databases."""
    if given_target is not None:
        target = given_target
    elif "replica_set" in request.fixturenames:
        target = request.getfixturevalue("replica_set").connection_string
    else:
        target = request.getfixturevalue("shared_set").connection_string
    drop_databases(target)
    # A fail point changes nothing that a member would report at once.
    with MongoClient[dict[str, Any]](target, heartbeatFrequencyMS=500) as connected:
        yield connected
