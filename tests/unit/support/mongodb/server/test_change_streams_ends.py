"""The end of a stream, and resuming afterwards.

Sources: jstests/change_streams/metadata_notifications.js, start_after_invalidation_exception.js,
whole_db_metadata_notifications.js, whole_cluster_metadata_notifications.js, ddl_rename_cross_db.js.
"""

import pytest
from pymongo.errors import OperationFailure

from tests.support.mongodb.server.client import Client
from tests.unit.support.mongodb.server.streams import (
    WATCHED,
    events,
    fetched,
    kinds,
    now,
    opened,
    refused,
)

_DROPPED = ["insert", "update", "delete", "drop", "invalidate"]
_NOTHING = {"$match": {"operationType": "none"}}


def _live_and_die(client: Client) -> None:
    customers = client.shop[WATCHED]
    customers.insert_one({"_id": 1})
    customers.update_one({"_id": 1}, {"$set": {"a": 1}})
    customers.delete_one({"_id": 1})
    customers.drop()


def test_stream_waits_for_missing_collection(client: Client) -> None:
    """metadata_notifications.js: opening, getMore and dropDatabase show nothing."""
    cursor = opened(client)
    assert fetched(client, cursor) == {**fetched(client, cursor), "nextBatch": []}
    client.drop_database("shop")
    assert fetched(client, cursor)["nextBatch"] == []
    client.shop.create_collection(WATCHED)
    client.shop[WATCHED].insert_one({"_id": 0})
    assert kinds(fetched(client, cursor)["nextBatch"]) == ["insert"]


def test_drop_closes_cursor_with_invalidate(client: Client) -> None:
    """metadata_notifications.js"""
    cursor = opened(client)
    _live_and_die(client)
    last = fetched(client, cursor)
    assert kinds(last["nextBatch"]) == _DROPPED
    assert last["id"] == 0
    assert last["postBatchResumeToken"] == last["nextBatch"][-1]["_id"]


@pytest.mark.parametrize(
    ("start", "at", "expected"),
    [
        # The token of an ordinary event, also after the drop of the collection.
        ("resumeAfter", 0, _DROPPED[1:]),
        ("startAfter", 0, _DROPPED[1:]),
        # The token of the drop: the invalidate follows, although the collection exists again.
        ("resumeAfter", 3, ["invalidate"]),
        ("startAfter", 3, ["invalidate"]),
        # The token of the invalidate: events of the new collection with this name follow.
        ("startAfter", 4, ["insert"]),
    ],
)
def test_stream_resumes_around_drop(
    client: Client, start: str, at: int, expected: list[str]
) -> None:
    """metadata_notifications.js"""
    began = now(client)
    _live_and_die(client)
    client.shop[WATCHED].insert_one({"_id": "after"})
    token = events(client, startAtOperationTime=began)[at]["_id"]
    assert kinds(events(client, **{start: token})) == expected


def test_invalidate_token_does_not_resume(client: Client) -> None:
    """metadata_notifications.js"""
    began = now(client)
    _live_and_die(client)
    token = events(client, startAtOperationTime=began)[-1]["_id"]
    refused(client, 260, resumeAfter=token)


def test_filtered_invalidate_closes_cursor(client: Client) -> None:
    """metadata_notifications.js, start_after_invalidation_exception.js"""
    began = now(client)
    _live_and_die(client)
    shown = events(client, startAtOperationTime=began)
    last = fetched(client, opened(client, _NOTHING, startAtOperationTime=began))
    assert last["nextBatch"] == []
    assert last["id"] == 0
    assert last["postBatchResumeToken"] == shown[-1]["_id"]
    client.shop[WATCHED].insert_one({"_id": 7})
    inserts = {"$match": {"operationType": "insert"}}
    found = events(client, inserts, startAfter=last["postBatchResumeToken"])
    assert [event["documentKey"] for event in found] == [{"_id": 7}]


def test_filtered_invalidate_ends_waiting_getmore(client: Client) -> None:
    """start_after_invalidation_exception.js"""
    client.shop[WATCHED].insert_one({"_id": 0})
    with client.shop[WATCHED].watch([{"$match": {"operationType": "insert"}}]) as stream:
        client.drop_database("shop")
        assert list(stream) == []
        assert not stream.alive


@pytest.mark.parametrize(("source", "target"), [(WATCHED, "other"), ("other", WATCHED)])
def test_rename_ends_streams_of_both_names(client: Client, source: str, target: str) -> None:
    """metadata_notifications.js"""
    client.shop[source].insert_one({"_id": 0})
    cursor = opened(client)
    client.shop[source].rename(target)
    rename, invalidate = fetched(client, cursor)["nextBatch"]
    assert rename["operationType"] == "rename"
    assert rename["ns"] == {"db": "shop", "coll": source}
    assert rename["to"] == {"db": "shop", "coll": target}
    assert invalidate["operationType"] == "invalidate"
    for start in ("resumeAfter", "startAfter"):
        assert kinds(events(client, **{start: rename["_id"]})) == ["invalidate"]
    client.shop[WATCHED].insert_one({"_id": "after"})
    kind = [*(["create"] if source == WATCHED else []), "insert"]
    found = events(client, startAfter=invalidate["_id"], showExpandedEvents=True)
    assert kinds(found) == kind


def test_rename_onto_watched_collection_yields_no_drop(client: Client) -> None:
    """metadata_notifications.js, whole_db_metadata_notifications.js: dropTarget"""
    for name in ("source", WATCHED):
        client.shop[name].insert_one({"_id": 0})
    of_collection, of_database = opened(client), opened(client, target=1)
    client.shop.source.rename(WATCHED, dropTarget=True)
    assert kinds(fetched(client, of_collection)["nextBatch"]) == ["rename", "invalidate"]
    assert kinds(fetched(client, of_database, "$cmd.aggregate")["nextBatch"]) == ["rename"]


def test_database_stream_ends_only_with_its_drop(client: Client) -> None:
    """whole_db_metadata_notifications.js"""
    for database in ("shop", "other"):
        client[database].c.insert_one({"_id": 0})
    cursor = opened(client, target=1)
    client.other.c.drop()
    client.drop_database("other")
    client.shop.c.drop()
    assert kinds(fetched(client, cursor, "$cmd.aggregate")["nextBatch"]) == ["drop"]
    client.shop.c.insert_one({"_id": 0})
    client.drop_database("shop")
    last = fetched(client, cursor, "$cmd.aggregate")
    assert kinds(last["nextBatch"]) == ["insert", "drop", "dropDatabase", "invalidate"]
    assert last["id"] == 0


def test_drops_do_not_end_cluster_stream(client: Client) -> None:
    """whole_cluster_metadata_notifications.js"""
    with client.watch(max_await_time_ms=1) as stream:
        client.shop.c.insert_one({"_id": 0})
        client.drop_database("shop")
        assert kinds(stream.next() for _ in range(3)) == ["insert", "drop", "dropDatabase"]
        assert stream.try_next() is None
        assert stream.alive


@pytest.mark.parametrize("drops_target", [False, True])
def test_rename_to_another_database_copies_documents(client: Client, drops_target: bool) -> None:
    """ddl_rename_cross_db.js"""
    client.shop.source.insert_many([{"_id": number} for number in range(2)])
    client.shop.source.create_index("a")
    client.other.unused.insert_one({})
    if drops_target:
        client.other.target.insert_one({"_id": "old"})
    with (
        client.shop.watch(show_expanded_events=True) as source,
        client.other.watch(show_expanded_events=True) as target,
        client.other.target.watch(show_expanded_events=True) as of_target,
    ):
        client.admin.command(
            "renameCollection", "shop.source", to="other.target", dropTarget=drops_target
        )
        assert source.next()["operationType"] == "drop"
        found = [target.next() for _ in range(5)]
        assert kinds(list(of_target)) == ["rename", "invalidate"]
    assert kinds(found) == ["create", "createIndexes", "insert", "insert", "rename"]
    assert len({event["ns"]["coll"] for event in found}) == 1
    name = found[0]["ns"]["coll"]
    assert name.startswith("tmp")
    assert name.endswith(".renameCollection")
    assert found[4]["operationDescription"]["to"] == {"db": "other", "coll": "target"}
    assert client.other.target.count_documents({}) == 2


def test_rename_to_existing_name_needs_drop_target(client: Client) -> None:
    """ddl_rename_cross_db.js"""
    client.shop.source.insert_one({})
    client.other.target.insert_one({})
    with pytest.raises(OperationFailure) as raised:
        client.admin.command("renameCollection", "shop.source", to="other.target")
    assert raised.value.code == 48
