"""Streams as the agent reads them, from a replica set that speaks the wire protocol."""

from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient

from mongo_agent.capture.match_stage import match_stage
from mongo_agent.capture.namespaces import Namespaces, Scope
from mongo_agent.change_stream.cursor import StreamCursor, StreamSource
from mongo_agent.change_stream.options import StreamOptions
from mongo_agent.change_stream.position import Opening
from mongo_agent.server.commands import Client
from tests.support.mongodb.server import MongoReplicaSet

OPTIONS = StreamOptions(await_ms=1)
SHOP = [match_stage(Namespaces(include_collections=("shop[.]a",)), others=("drop", "invalidate"))]


@pytest.fixture
def replica_set() -> Iterator[MongoReplicaSet]:
    with MongoReplicaSet(members=3) as started:
        yield started


@pytest.fixture
def client(replica_set: MongoReplicaSet) -> Iterator[Client]:
    with MongoClient[Any](replica_set.connection_string) as connected:
        yield connected


def test_cursor_closes_on_exit(client: Client, replica_set: MongoReplicaSet) -> None:
    with StreamCursor.open(StreamSource(client, Scope(), SHOP, OPTIONS), Opening()) as cursor:
        cursor.read()
        assert replica_set.open_cursors == 1
    assert replica_set.open_cursors == 0
    with pytest.raises(ValueError, match="closed cursor"):
        cursor.read()
