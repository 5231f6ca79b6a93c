"""Streams as the agent reads them, from a replica set that speaks the real protocol."""

from collections.abc import Iterator
from typing import Any

import bson
import pytest
from pymongo import MongoClient

from mongo_agent.capture.match_stage import match_stage
from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.capture.scope import Scope
from mongo_agent.change_stream.cursor import Client, Reply, StreamCursor, StreamFailedError
from mongo_agent.change_stream.position import Opening, StreamPosition, opening, reopening
from mongo_agent.change_stream.settings import StreamOptions
from mongo_agent.documents.cluster_time import ClusterTime
from mongo_agent.server.failures import Failure
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


def read_on(cursor: StreamCursor) -> tuple[list[dict[str, Any]], Reply]:
    """Events up to a reply without any, or the last one, and that reply."""
    # What the cursor was opened with comes first, and says nothing of what was written since.
    reply = cursor.read()
    found = [bson.decode(event) for event in reply.events]
    while not reply.is_last:
        reply = cursor.read()
        found += map(bson.decode, reply.events)
        if not reply.events:
            break
    return found, reply


def ids(events: list[dict[str, Any]]) -> list[Any]:
    return [event["documentKey"]["_id"] for event in events]


def test_other_filters_lose_nothing_and_repeat_nothing(client: Client) -> None:
    """The event of the token does not pass the new filter; the time is asked for instead."""
    both = [match_stage(Namespaces(include_databases=("shop",)))]
    with StreamCursor.open(client, Scope(), both, Opening(), OPTIONS) as cursor:
        with client.start_session() as session, session.start_transaction():
            client.shop.b.insert_one({"_id": "b1"}, session=session)
            client.shop.a.insert_one({"_id": "a1"}, session=session)
        client.shop.a.insert_one({"_id": "a2"})
        events, _ = read_on(cursor)
    assert ids(events) == ["b1", "a1", "a2"]
    last, time = events[0]["_id"], events[0]["clusterTime"]
    position = StreamPosition(last, ClusterTime(time.time, time.inc), "both", "rs0")
    again = Opening(start_after=last)
    with (
        pytest.raises(StreamFailedError) as refused,
        StreamCursor.open(client, Scope(), SHOP, again, OPTIONS) as cursor,
    ):
        read_on(cursor)
    assert refused.value.failure is Failure.FILTERED_TOKEN
    by_time = opening(position, "shop.a")
    assert reopening(again, position, refused.value.failure) == by_time
    with StreamCursor.open(client, Scope(), SHOP, by_time, OPTIONS) as cursor:
        found, _ = read_on(cursor)
    assert by_time.sent is not None
    sent = by_time.sent["_data"]
    assert ids([each for each in found if each["_id"]["_data"] > sent]) == ["a1", "a2"]


def test_a_cursor_that_is_left_is_closed(client: Client, replica_set: MongoReplicaSet) -> None:
    with StreamCursor.open(client, Scope(), SHOP, Opening(), OPTIONS) as cursor:
        cursor.read()
        assert replica_set.open_cursors == 1
    assert replica_set.open_cursors == 0
    with pytest.raises(ValueError, match="closed cursor"):
        cursor.read()
