"""Features that older server releases lack, as a client sees them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from pymongo.errors import OperationFailure

from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client

RELEASES = {
    "4.4.29": 9,
    "5.0.31": 13,
    "6.0.8": 17,
    "6.0.20": 17,
    "7.0.14": 21,
    "8.0.4": 25,
    "8.2.0": 27,
    "8.2.11": 27,
    "8.3.13": 28,
    "9.0.4": 29,
}
IMAGES: dict[str, Any] = {"changeStreamPreAndPostImages": {"enabled": True}}


def code_of(action: Callable[..., object], *arguments: Any, **options: Any) -> int | None:
    """The error code of a failed action."""
    try:
        action(*arguments, **options)
    except OperationFailure as error:
        return error.code
    return None


@pytest.mark.parametrize("version", RELEASES)
def test_simulated_release_supports_features_of_version(version: str) -> None:
    with (
        MongoReplicaSet(version=version) as replica_set,
        Client(replica_set.connection_string) as client,
    ):
        assert client.server_info()["version"] == version
        assert client.admin.command("hello")["maxWireVersion"] == RELEASES[version]
        shop = client.shop
        with shop.watch() as stream:
            shop.a.insert_one({"_id": 1, "list": [1, 2], "long": "x" * 500})
            shop.a.update_one({"_id": 1}, [{"$set": {"list": [1]}}])
            insert, update = stream.next(), stream.next()
            position: Any = stream.resume_token
        description = update["updateDescription"]
        assert ("collectionUUID" in insert) == (version == "8.2.0")
        assert ("disambiguatedPaths" in description) == (version == "8.2.0")
        assert ("wallTime" in insert) == (version >= "6")
        assert ("truncatedArrays" in description) == (version >= "5")
        # The version of the token follows the time.
        assert position["_data"][18:22] == ("2B04" if version >= "7" else "2B02")
        time = client.admin.command("ping")["operationTime"]
        concern = {"level": "snapshot", "atClusterTime": time}
        read_at = partial(shop.command, "find", "a", readConcern=concern)
        assert code_of(read_at) == (72 if version < "5" else None)
        for action, code in (
            (partial(shop.create_collection, "kept", **IMAGES), 40415),
            (partial(shop.command, "collMod", "a", **IMAGES), 40415),
            (partial(client.watch, full_document="whenAvailable"), 2),
            (partial(client.watch, full_document_before_change="whenAvailable"), 40415),
            (partial(client.watch, show_expanded_events=True), 40415),
        ):
            assert code_of(action) == (code if version < "6" else None)
        if version >= "6":
            with client.watch(show_expanded_events=True) as stream:
                shop.create_collection("seen")
                shop.create_collection("view", viewOn="seen")
                kinds = [stream.next().get("nsType") for _ in range(2)]
            assert kinds == (["collection", "view"] if version >= "8.2" else [None, None])
        split = code_of(client.watch, [{"$changeStreamSplitLargeEvent": {}}])
        assert split == (40324 if version < "6" or version == "6.0.8" else None)


def test_unknown_release_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"no server of 3\.6\.1 here"):
        MongoReplicaSet(version="3.6.1")
