"""What older releases of the server lack, as a client meets it."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from bson import Timestamp
from pymongo.errors import OperationFailure

from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client

RELEASES = {"4.4.29": 9, "5.0.31": 13, "6.0.8": 17, "6.0.20": 17, "7.0.14": 21, "8.0.4": 25}


@pytest.fixture(params=RELEASES)
def released(request: pytest.FixtureRequest) -> Iterator[tuple[str, Client]]:
    version: str = request.param
    with (
        MongoReplicaSet(version=version) as replica_set,
        Client(replica_set.connection_string) as client,
    ):
        yield version, client


def code_of(action: Callable[[], object]) -> int | None:
    """The code that an action fails with."""
    try:
        action()
    except OperationFailure as error:
        return error.code
    return None


def test_server_reports_its_release(released: tuple[str, Client]) -> None:
    version, client = released
    assert client.server_info()["version"] == version
    assert client.admin.command("serverStatus")["version"] == version
    assert client.admin.command("hello")["maxWireVersion"] == RELEASES[version]


def test_images_and_expanded_events_came_with_6(released: tuple[str, Client]) -> None:
    version, client = released
    is_old = version < "6"
    images = {"enabled": True}
    unknown = 40415 if is_old else None
    database = client.shop
    assert unknown == code_of(
        lambda: database.create_collection("kept", changeStreamPreAndPostImages=images)
    )
    database.plain.insert_one({"_id": 1})
    assert unknown == code_of(
        lambda: database.command("collMod", "plain", changeStreamPreAndPostImages=images)
    )
    for options, code in (
        ({"full_document": "whenAvailable"}, 2),
        ({"full_document_before_change": "whenAvailable"}, 40415),
        ({"show_expanded_events": True}, 40415),
    ):
        assert code_of(partial(client.watch, **options)) == (code if is_old else None)


def test_event_content(released: tuple[str, Client]) -> None:
    version, client = released
    with client.shop.watch() as stream:
        client.shop.a.insert_one({"_id": 1, "list": [1, 2], "long": "x" * 500})
        client.shop.a.update_one({"_id": 1}, [{"$set": {"list": [1]}}])
        insert, update = stream.next(), stream.next()
        position: Any = stream.resume_token
    assert ("wallTime" in insert) == (version >= "6")
    assert ("truncatedArrays" in update["updateDescription"]) == (version >= "5")
    # Behind the time stands the version of the token.
    assert position["_data"][18:22] == ("2B04" if version >= "7" else "2B02")


def test_reads_at_a_time_came_with_5(released: tuple[str, Client]) -> None:
    version, client = released
    client.shop.a.insert_one({"_id": 1})
    time: Timestamp = client.admin.command("ping")["operationTime"]
    concern: dict[str, Any] = {"level": "snapshot", "atClusterTime": time}
    code = code_of(lambda: client.shop.command("find", "a", readConcern=concern))
    assert code == (72 if version < "5" else None)


def test_events_are_split_since_6_0_9(released: tuple[str, Client]) -> None:
    version, client = released
    split: list[dict[str, Any]] = [{"$changeStreamSplitLargeEvent": {}}]
    is_old = version < "6" or version == "6.0.8"
    assert code_of(partial(client.watch, split)) == (40324 if is_old else None)


def test_unknown_release_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"no server of 3\.6\.1 here"):
        MongoReplicaSet(version="3.6.1")
