"""One member, and a client of it, for each test."""

from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient

from tests.harness.mongo import MongoReplicaSet

Client = MongoClient[dict[str, Any]]


@pytest.fixture
def replica_set() -> Iterator[MongoReplicaSet]:
    with MongoReplicaSet() as started:
        yield started


@pytest.fixture
def client(replica_set: MongoReplicaSet) -> Iterator[Client]:
    with MongoClient[dict[str, Any]](replica_set.connection_string) as connected:
        yield connected
