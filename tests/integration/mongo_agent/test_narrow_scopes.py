"""A user of one database, and streams with a scope smaller than the deployment."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mongo_agent.change_stream.reader import StreamReader
from mongo_agent.check.probe import open_probe
from mongo_agent.check.server import check_privileges
from mongo_agent.server.deployment import discover
from sidecar.errors import AccessDeniedError
from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoReplicaSet, Privilege, User
from tests.support.mongodb.server.client import Client

DATABASE = {"capture.scope": "database", "capture.target": "shop"}
COLLECTION = {"capture.scope": "collection", "capture.target": "shop.a"}


@pytest.fixture(scope="module")
def guarded() -> Iterator[MongoReplicaSet]:
    finding = (Privilege(("find", "changeStream"), "shop"),)
    users = [
        User("root", "open"),
        User("reader", "open", (("read", "shop"),)),
        User("finder", "open", (), finding),
    ]
    with MongoReplicaSet(users=users) as started:
        yield started


@pytest.fixture
def root(guarded: MongoReplicaSet) -> Iterator[Client]:
    with Client(guarded.connection_string, username="root", password="open") as client:
        client.drop_database("shop")
        yield client


def agent_of(
    directory: Path, servers: MongoReplicaSet, properties: dict[str, str], **more: Any
) -> RunningAgent:
    login = {"mongodb.user": "reader", "mongodb.password": "open", "mongodb.authsource": "admin"}
    return RunningAgent(directory, servers.connection_string, {**login, **properties}, **more)


@pytest.mark.parametrize("scope", [DATABASE, COLLECTION], ids=["database", "collection"])
def test_reader_of_one_database_copies_and_streams(
    tmp_path: Path, guarded: MongoReplicaSet, root: Client, scope: dict[str, str]
) -> None:
    root.shop.a.insert_one({"_id": 1})
    root.crm.a.insert_one({"_id": 2})
    with agent_of(tmp_path, guarded, scope, snapshot_mode="initial") as agent:
        agent.wait_for(1)
        root.crm.a.insert_one({"_id": 3})
        root.shop.a.insert_one({"_id": 4})
        published = agent.wait_for(2)
    assert [(each.topic, each.kind, each.id) for each in published] == [
        ("p.shop.a", "read", 1),
        ("p.shop.a", "insert", 4),
    ]
    root.drop_database("crm")


@pytest.mark.parametrize("action", ["wait", "exit"])
@pytest.mark.parametrize("scope", [DATABASE, COLLECTION], ids=["database", "collection"])
def test_missing_list_privilege_blocks_only_the_snapshot(
    tmp_path: Path, guarded: MongoReplicaSet, root: Client, scope: dict[str, str], action: str
) -> None:
    """The stream continues, and the snapshot reports the privilege until it is granted."""
    login = {
        "mongodb.user": "finder",
        "connect.backoff.initial.delay.ms": "1",
        "connect.backoff.max.delay.ms": "1",
        "connect.max.attempts": "2",
    }
    root.shop.a.insert_one({"_id": 1})
    properties = {**scope, **login, "access.denied.action": action}
    with agent_of(tmp_path, guarded, properties, snapshot_mode="initial") as agent:
        if action == "exit":
            error = agent.wait_until_ended()
            assert isinstance(error, AccessDeniedError)
            assert "listCollections" in str(error)
            return
        agent.wait_until_streaming()
        root.shop.a.insert_one({"_id": 2})
        assert [each.id for each in agent.wait_for(1)] == [2]

        def message() -> str:
            conditions = agent.service.status.status().conditions
            found = (each.message for each in conditions if each.code == "snapshot_blocked")
            return next(found, "")

        agent.wait_until(message, "the condition")
        assert "`mongo-agent check`" in message()
        with open_probe(agent.configuration()) as probe:
            (fault, *_) = check_privileges(probe, discover(probe.client))
        assert "`listCollections` on the database shop" in fault.message


def test_recreated_database_loses_no_event(
    tmp_path: Path, guarded: MongoReplicaSet, root: Client
) -> None:
    """The server ends the stream; later events are not lost, whether the agent runs or not."""
    with agent_of(tmp_path, guarded, DATABASE).streaming() as agent:
        root.shop.a.insert_one({"_id": 1})
        root.drop_database("shop")
        root.shop.b.insert_one({"_id": 2})
        assert [each.id for each in agent.wait_for(2)] == [1, 2]
    root.drop_database("shop")
    root.shop.c.insert_one({"_id": 3})
    with agent_of(tmp_path, guarded, DATABASE) as agent:
        assert [each.id for each in agent.wait_for(1)] == [3]


@pytest.mark.parametrize("is_dropped", [False, True])
def test_recreated_collection_loses_no_event(
    tmp_path: Path, guarded: MongoReplicaSet, root: Client, is_dropped: bool
) -> None:
    with agent_of(tmp_path, guarded, COLLECTION).streaming() as agent:
        root.shop.a.insert_one({"_id": 1})
        if is_dropped:
            root.shop.a.drop()
        else:
            root.shop.a.rename("old")
            root.shop.old.insert_one({"_id": 2})
        root.shop.a.insert_one({"_id": 3})
        assert [each.id for each in agent.wait_for(2)] == [1, 3]


def test_streams_are_stopped_before_any_is_awaited(
    tmp_path: Path, guarded: MongoReplicaSet, root: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise each stream would use up its own timeout if a server does not answer."""
    calls: list[tuple[str, StreamReader]] = []
    stop, close = StreamReader.stop, StreamReader.close

    def stopping(reader: StreamReader) -> None:
        calls.append(("stop", reader))
        stop(reader)

    def closing(reader: StreamReader) -> None:
        calls.append(("close", reader))
        close(reader)

    monkeypatch.setattr(StreamReader, "stop", stopping)
    monkeypatch.setattr(StreamReader, "close", closing)
    three = {**COLLECTION, "capture.target": "shop.a,shop.b,shop.c"}
    with agent_of(tmp_path, guarded, three) as agent:
        agent.wait_until_streaming()
    first_close = [name for name, _ in calls].index("close")
    assert len({reader for _, reader in calls[:first_close]}) == 3
    assert len({reader for name, reader in calls if name == "close"}) == 3
