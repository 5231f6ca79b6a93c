"""Documents before and after a change.

Sources: jstests/change_streams/lookup_pit_pre_and_post_image.js, lookup_pre_image.js,
lookup_post_image.js.
"""

from tests.support.mongodb.server.client import Client
from tests.unit.support.mongodb.server.streams import WATCHED, events, fetched, opened

_FIRST, _UPDATED, _AGAIN = ({"_id": 1, "x": x} for x in (1, 3, 5))


def test_looked_up_document_is_current_version(client: Client) -> None:
    """lookup_post_image.js: the document at the time of reading, null after its deletion."""
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


def test_looked_up_document_belongs_to_same_collection(client: Client) -> None:
    """lookup_post_image.js: a new collection of the same name is not read."""
    customers = client.shop[WATCHED]
    customers.insert_one(_FIRST)
    start = opened(client)["postBatchResumeToken"]
    customers.update_one({"_id": 1}, {"$set": {"x": 3}})
    customers.drop()
    customers.insert_one({"_id": 1, "new": True})
    update = events(client, fullDocument="updateLookup", resumeAfter=start)[0]
    assert update["operationType"] == "update"
    assert update["fullDocument"] is None
