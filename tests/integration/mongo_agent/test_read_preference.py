"""Streams use the connection string's read preference, and one server at a time."""

from pathlib import Path

import pytest
from pymongo.hello import Hello
from pymongo.server_description import ServerDescription

from mongo_agent.server.commands import ServerAffinity, select_server
from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoReplicaSet, MongoShardedCluster
from tests.support.mongodb.server.client import Client


def reopenings(agent: RunningAgent) -> object:
    (stream,) = (each for each in agent.service.status.health().components if each.name == "stream")
    return stream.details["reopenings"]


@pytest.mark.parametrize(
    ("preference", "reads_primary"),
    [("", True), ("&readPreference=primaryPreferred", True), ("&readPreference=secondary", False)],
    ids=["none", "primaryPreferred", "secondary"],
)
def test_stream_follows_the_read_preference(
    tmp_path: Path,
    three_members: MongoReplicaSet,
    writer: Client,
    preference: str,
    reads_primary: bool,
) -> None:
    string = three_members.connection_string + preference
    with RunningAgent(tmp_path, string, {"snapshot.mode": "initial"}).streaming() as agent:
        for number in range(20):
            writer.shop.a.insert_one({"_id": number})
            agent.wait_until(lambda n=number: len(agent.of_documents()) > n, "the event")
        streams = {address: three_members.streams_of(address) for address in three_members.members}
        assert reopenings(agent) == 0
    assert sum(streams.values()) == 1
    assert bool(streams[three_members.members[0]]) is reads_primary
    assert [each.id for each in agent.of_documents()] == list(range(20))


def test_stream_moves_to_another_secondary(
    tmp_path: Path, three_members: MongoReplicaSet, writer: Client
) -> None:
    string = three_members.connection_string + "&readPreference=secondary"
    with RunningAgent(tmp_path, string).streaming() as agent:
        writer.shop.a.insert_one({"_id": 1})
        agent.wait_for(1)
        gone = next(each for each in three_members.members if three_members.streams_of(each))
        three_members.stop_member(gone)
        writer.shop.a.insert_one({"_id": 2})
        assert [each.id for each in agent.wait_for(2)] == [1, 2]
        assert three_members.primary != gone


def test_stream_leaves_a_promoted_secondary(
    tmp_path: Path, three_members: MongoReplicaSet, writer: Client
) -> None:
    """As in Debezium 3.7, the preference holds after the member that is read becomes primary."""
    string = three_members.connection_string + "&readPreference=secondary"
    with RunningAgent(tmp_path, string).streaming() as agent:
        writer.shop.a.insert_one({"_id": 1})
        agent.wait_for(1)
        promoted = next(each for each in three_members.members if three_members.streams_of(each))
        three_members.elect(promoted)
        writer.shop.a.insert_one({"_id": 2})
        assert [each.id for each in agent.wait_for(2)] == [1, 2]
        agent.wait_until(
            lambda: any(
                three_members.streams_of(each) for each in three_members.members if each != promoted
            ),
            "a stream of another secondary",
        )


def test_stream_starts_without_a_primary(
    tmp_path: Path, three_members: MongoReplicaSet, writer: Client
) -> None:
    """The secondaries contain all majority-committed changes."""
    string = three_members.connection_string + "&readPreference=secondaryPreferred"
    with RunningAgent(tmp_path, string) as agent:
        agent.wait_until_streaming()
    writer.shop.a.insert_one({"_id": 1})
    three_members.lose_primary()
    with RunningAgent(tmp_path, string) as agent:
        assert [each.id for each in agent.wait_for(1)] == [1]


def test_stream_stays_with_one_router(tmp_path: Path) -> None:
    """The other routers do not know its cursor."""
    with (
        MongoShardedCluster(routers=3) as cluster,
        Client(cluster.connection_string) as writer,
        RunningAgent(tmp_path, cluster.connection_string).streaming() as agent,
    ):
        for number in range(20):
            writer.shop.a.insert_one({"_id": number})
            agent.wait_until(lambda n=number: len(agent.of_documents()) > n, "the event")
        assert reopenings(agent) == 0
        assert [each.id for each in agent.of_documents()] == list(range(20))


def described(port: int, round_trip_s: float) -> ServerDescription:
    hello = Hello({"ok": 1, "setName": "rs0", "secondary": True, "hosts": []})
    return ServerDescription(("a", port), hello, round_trip_s)


def test_server_affinity_keeps_the_nearest_server() -> None:
    near, far = described(1, 0.001), described(2, 0.002)
    affinity = ServerAffinity()
    assert select_server([far, near]) == [far, near]
    with affinity.active():
        assert select_server([far, near]) == [near]
        assert select_server([described(1, 0.5), far])[0].address == ("a", 1)
        assert select_server([far]) == [far]
        assert select_server([far, near]) == [far]
        assert select_server([]) == []
    assert select_server([far, near]) == [far, near]
