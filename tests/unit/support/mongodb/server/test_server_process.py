"""The test server as a process: what it acknowledged outlives a SIGKILL."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.collection import Collection
from pymongo.errors import PyMongoError

from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.server_process import MongoServerProcess

pytestmark = pytest.mark.servers


def leave_a_transaction_open(server: MongoServerProcess) -> None:
    """The server is killed in the middle of it."""
    uri = server.connection_string
    with (
        MongoClient[Any](uri, serverSelectionTimeoutMS=500) as client,
        contextlib.suppress(PyMongoError),
        client.start_session() as session,
    ):
        session.start_transaction()
        client.shop.orders.insert_one({"_id": "of an open transaction"}, session=session)
        server.kill()


def test_a_killed_server_has_what_it_acknowledged_and_its_streams_go_on(tmp_path: Path) -> None:
    with (
        MongoServerProcess(tmp_path / "server", members=1) as server,
        MongoClient[Any](server.connection_string, serverSelectionTimeoutMS=60_000) as client,
    ):
        orders = client.shop.orders
        with orders.watch() as stream:
            orders.insert_one({"_id": 1})
            orders.update_one({"_id": 1}, {"$set": {"state": "paid"}})
            assert stream.next()["operationType"] == "insert"
            token = stream.resume_token
        leave_a_transaction_open(server)
        server.start()
        assert list(orders.find()) == [{"_id": 1, "state": "paid"}]
        orders.insert_one({"_id": 2})
        with orders.watch(resume_after=token) as stream:
            kinds = [stream.next()["operationType"] for _ in range(2)]
        assert kinds == ["update", "insert"]


@contextlib.contextmanager
def orders_of(journal: Path) -> Iterator[Collection[Any]]:
    """Those of a server over the journal."""
    with (
        MongoReplicaSet(journal=journal) as replica_set,
        MongoClient[Any](replica_set.connection_string) as client,
    ):
        yield client.shop.orders


def test_an_entry_that_a_kill_cut_is_as_if_it_was_never_written(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    with orders_of(journal) as orders:
        orders.insert_many([{"_id": 1}, {"_id": 2}])
    journal.write_bytes(journal.read_bytes()[:-1])
    with orders_of(journal) as orders:
        assert [each["_id"] for each in orders.find()] == [1]
        orders.insert_one({"_id": 3})
    with orders_of(journal) as orders:
        assert [each["_id"] for each in orders.find()] == [1, 3]
