"""Commands accept the levels of `readConcern` that a server's commands accept."""

from collections.abc import Callable
from typing import Any

import pytest
from pymongo.client_session import ClientSession
from pymongo.errors import OperationFailure
from pymongo.read_concern import ReadConcern

from tests.support.mongodb.server.client import Client

_INVALID_OPTIONS = 72
_OPERATIONS: dict[str, Callable[[Client, ClientSession], Any]] = {
    "insert": lambda client, session: client.shop.c.insert_one({"_id": 2}, session=session),
    "update": lambda client, session: client.shop.c.update_one(
        {"_id": 1}, {"$inc": {"x": 1}}, session=session
    ),
    "delete": lambda client, session: client.shop.c.delete_one({}, session=session),
    "findAndModify": lambda client, session: client.shop.c.find_one_and_update(
        {"_id": 1}, {"$inc": {"x": 1}}, session=session
    ),
    "listDatabases": lambda client, session: client.list_database_names(session=session),
    "listCollections": lambda client, session: client.shop.list_collection_names(session=session),
    "listIndexes": lambda client, session: list(client.shop.c.list_indexes(session=session)),
    "count": lambda client, session: client.shop.command("count", "c", session=session),
}


@pytest.mark.parametrize("name", _OPERATIONS)
def test_a_snapshot_session_runs_reads_alone(client: Client, name: str) -> None:
    client.shop.c.insert_one({"_id": 1})
    with client.start_session(snapshot=True) as session:
        assert client.shop.c.find_one({}, session=session) == {"_id": 1}
        with pytest.raises(OperationFailure) as raised:
            _OPERATIONS[name](client, session)
    assert raised.value.code == _INVALID_OPTIONS
    assert list(client.shop.c.find()) == [{"_id": 1}]


def test_a_change_stream_reads_what_a_majority_has(client: Client) -> None:
    customers = client.shop.get_collection("customers", read_concern=ReadConcern("majority"))
    with customers.watch(max_await_time_ms=1) as stream:
        assert stream.try_next() is None
    for level in ("local", "available", "linearizable", "snapshot"):
        other = client.shop.get_collection("customers", read_concern=ReadConcern(level))
        with pytest.raises(OperationFailure) as raised:
            other.watch()
        assert raised.value.code == _INVALID_OPTIONS
