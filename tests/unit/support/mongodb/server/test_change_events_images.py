"""Documents before and after a change.

Sources: jstests/change_streams/lookup_pit_pre_and_post_image.js, lookup_pre_image.js,
lookup_post_image.js.
"""

from typing import Any

import pytest
from pymongo.errors import OperationFailure

from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.unit.support.mongodb.server.streams import (
    WATCHED,
    Document,
    events,
    fetched,
    kinds,
    opened,
    refused,
)

_FIRST, _UPDATED, _AGAIN = ({"_id": 1, "x": x} for x in (1, 3, 5))
_REPLACED = {"_id": 1, "z": 1}
_CHOICES = ("whenAvailable", "required")


def _change(client: Client, *, is_recorded: bool) -> Any:
    """An update, a replacement and a delete, of a collection with or without images."""
    customers = client.shop[WATCHED]
    if is_recorded:
        images = {"enabled": True}
        client.shop.command("collMod", WATCHED, changeStreamPreAndPostImages=images)
    start = opened(client)["postBatchResumeToken"]
    customers.update_one({"_id": 1}, {"$inc": {"x": 2}})
    customers.replace_one({"_id": 1}, _REPLACED)
    customers.delete_one({"_id": 1})
    return start


def _images(found: list[Document]) -> list[tuple[Any, Any]]:
    return [
        (event.get("fullDocumentBeforeChange", "absent"), event.get("fullDocument", "absent"))
        for event in found
    ]


@pytest.mark.parametrize("before", ["off", *_CHOICES])
@pytest.mark.parametrize("after", ["default", *_CHOICES])
def test_images_that_are_recorded(client: Client, before: str, after: str) -> None:
    """lookup_pit_pre_and_post_image.js"""
    client.shop[WATCHED].insert_one(_UPDATED)
    start = _change(client, is_recorded=True)
    options = {"fullDocumentBeforeChange": before, "fullDocument": after}
    found = events(client, **options, resumeAfter=start)
    assert kinds(found) == ["update", "replace", "delete"]
    pre = [_UPDATED, _AGAIN, _REPLACED] if before != "off" else ["absent"] * 3
    post = [_AGAIN if after != "default" else "absent", _REPLACED, "absent"]
    assert _images(found) == list(zip(pre, post, strict=True))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("off", "default", [("absent", "absent"), ("absent", _REPLACED), ("absent", "absent")]),
        ("whenAvailable", "default", [(None, "absent"), (None, _REPLACED), (None, "absent")]),
        ("off", "whenAvailable", [("absent", None), ("absent", _REPLACED), ("absent", "absent")]),
        ("whenAvailable", "whenAvailable", [(None, None), (None, _REPLACED), (None, "absent")]),
    ],
)
def test_images_that_are_not_recorded(
    client: Client, before: str, after: str, expected: list[tuple[Any, Any]]
) -> None:
    """lookup_pit_pre_and_post_image.js"""
    client.shop[WATCHED].insert_one(_UPDATED)
    start = _change(client, is_recorded=False)
    options = {"fullDocumentBeforeChange": before, "fullDocument": after}
    assert _images(events(client, **options, resumeAfter=start)) == expected


@pytest.mark.parametrize(
    "options",
    [
        {"fullDocumentBeforeChange": "required"},
        {"fullDocument": "required"},
        {"fullDocumentBeforeChange": "whenAvailable", "fullDocument": "required"},
        {"fullDocumentBeforeChange": "required", "fullDocument": "whenAvailable"},
    ],
)
def test_a_missing_required_image_fails_the_stream(client: Client, options: Document) -> None:
    """lookup_pit_pre_and_post_image.js: an insert has none; what comes later can be read."""
    start = opened(client)["postBatchResumeToken"]
    client.shop[WATCHED].insert_one(_FIRST)
    assert kinds(events(client, **options, resumeAfter=start)) == ["insert"]
    client.shop[WATCHED].update_one({"_id": 1}, {"$inc": {"x": 2}})
    refused(client, 47, **options, resumeAfter=start)
    start = _change(client, is_recorded=True)
    assert kinds(events(client, **options, resumeAfter=start)) == ["update", "replace", "delete"]


def test_a_looked_up_document_is_the_present_one(client: Client) -> None:
    """lookup_post_image.js: as it is when the event is read, null once it is gone."""
    customers = client.shop[WATCHED]
    customers.insert_one(_FIRST)
    cursor = opened(client, fullDocument="updateLookup")
    customers.update_one({"_id": 1}, {"$set": {"x": 3}})
    customers.update_one({"_id": 1}, {"$set": {"x": 5}})
    found = fetched(client, cursor)["nextBatch"]
    assert [event["fullDocument"] for event in found] == [_AGAIN, _AGAIN]
    customers.update_one({"_id": 1}, {"$set": {"x": 7}})
    customers.delete_one({"_id": 1})
    update, delete = fetched(client, cursor)["nextBatch"]
    assert update["fullDocument"] is None
    assert "fullDocument" not in delete


def test_a_looked_up_document_is_of_the_same_collection(client: Client) -> None:
    """lookup_post_image.js: not of a new collection of the same name."""
    customers = client.shop[WATCHED]
    customers.insert_one(_FIRST)
    start = opened(client)["postBatchResumeToken"]
    customers.update_one({"_id": 1}, {"$set": {"x": 3}})
    customers.drop()
    customers.insert_one({"_id": 1, "new": True})
    update = events(client, fullDocument="updateLookup", resumeAfter=start)[0]
    assert update["operationType"] == "update"
    assert update["fullDocument"] is None


@pytest.mark.parametrize("choice", _CHOICES)
def test_a_release_without_images_refuses_them(choice: str) -> None:
    """lookup_pit_pre_and_post_image.js: where the feature is off"""
    with (
        MongoReplicaSet(version="5.0.31") as replica_set,
        Client(replica_set.connection_string) as client,
        pytest.raises(OperationFailure) as raised,
        client.shop.watch(full_document=choice),
    ):
        pass
    assert raised.value.code == 2
