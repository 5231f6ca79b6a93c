"""What `showExpandedEvents` adds.

Sources: jstests/change_streams/expanded_update_description.js, ddl_create_event.js,
ddl_create_drop_index_events.js, ddl_coll_mod_event.js, ddl_view_events.js.
"""

from typing import Any

import pytest
from bson import Binary

from tests.support.mongodb.server.client import Client
from tests.unit.support.mongodb.server.streams import (
    WATCHED,
    Document,
    events,
    fetched,
    kinds,
    now,
    opened,
)

_ID_INDEX = {"v": 2, "key": {"_id": 1}, "name": "_id_"}
_LONG = "*" * 128


def _opened(client: Client, target: str | int) -> tuple[Document, str]:
    cursor = opened(client, target=target, showExpandedEvents=True)
    return cursor, target if isinstance(target, str) else "$cmd.aggregate"


def _uuid(client: Client) -> Binary:
    found = client.shop.command("listCollections", filter={"name": WATCHED})["cursor"]
    uuid: Binary = found["firstBatch"][0]["info"]["uuid"]
    return uuid


@pytest.mark.parametrize(
    ("after", "description"),
    [
        (
            {"d.o.t.": {"sub": 1}, "new.": 1},
            {
                "updatedFields": {"d.o.t..sub": 1, "new.": 1},
                "disambiguatedPaths": {"d.o.t..sub": ["d.o.t.", "sub"], "new.": ["new."]},
            },
        ),
        (
            {"d.o.t.": {"sub": 2, "list": [_LONG]}},
            {
                "truncatedArrays": [{"field": "d.o.t..list", "newSize": 1}],
                "disambiguatedPaths": {"d.o.t..list": ["d.o.t.", "list"]},
            },
        ),
        (
            {"d.o.t.": {"sub": 2, "list": [{"0": [{"1.2": {"a.b": True}}]}, "truncated"]}},
            {
                "updatedFields": {"d.o.t..list.0": {"0": [{"1.2": {"a.b": True}}]}},
                "disambiguatedPaths": {"d.o.t..list.0": ["d.o.t.", "list", 0]},
            },
        ),
        ({"d.o.t.": {"sub": 2, "list": [_LONG, "truncated"]}, "short": [1]}, {}),
    ],
)
def test_pipeline_update_reports_disambiguated_paths(
    client: Client, after: Document, description: Document
) -> None:
    """expanded_update_description.js"""
    document = {"d.o.t.": {"sub": 2, "list": [_LONG, "truncated"]}, "short": [1, 2]}
    whole = {"_id": 1, **document, **after}
    if "short" in after:
        description = {"truncatedArrays": [{"field": "short", "newSize": 1}]}
    if "list" not in after["d.o.t."] and "new." in after:
        whole["d.o.t."] = {"sub": 1, "list": [_LONG, "truncated"]}
    found = _described(client, document, [{"$replaceWith": {"$literal": whole}}])
    empty: Document = {"updatedFields": {}, "removedFields": [], "truncatedArrays": []}
    assert found == {**empty, "disambiguatedPaths": {}, **description}


def _described(client: Client, document: Document, update: Any) -> Document:
    client.shop[WATCHED].insert_one({"_id": 1, **document})
    cursor, name = _opened(client, WATCHED)
    client.shop[WATCHED].update_one({"_id": 1}, update)
    (event,) = fetched(client, cursor, name)["nextBatch"]
    description: Document = event["updateDescription"]
    return description


@pytest.mark.parametrize("target", [1, WATCHED])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"capped": True, "size": 1000, "max": 1000},
        {"validator": {"a": 1}, "validationLevel": "off", "validationAction": "warn"},
    ],
)
def test_create_event_contains_options(
    client: Client, target: str | int, options: Document
) -> None:
    """ddl_create_event.js"""
    cursor, name = _opened(client, target)
    client.shop.command("create", WATCHED, **options)
    (event,) = fetched(client, cursor, name)["nextBatch"]
    assert event["operationType"] == "create"
    assert event["operationDescription"] == {**options, "idIndex": _ID_INDEX}
    assert event["collectionUUID"] == _uuid(client)
    assert event["ns"] == {"db": "shop", "coll": WATCHED}


def test_insert_creates_collection_first(client: Client) -> None:
    """ddl_create_event.js"""
    cursor, name = _opened(client, 1)
    client.shop[WATCHED].insert_one({"_id": 0})
    create, insert = fetched(client, cursor, name)["nextBatch"]
    assert create["operationDescription"] == {"idIndex": _ID_INDEX}
    assert insert["operationType"] == "insert"
    assert create["collectionUUID"] == insert["collectionUUID"]


@pytest.mark.parametrize("target", [1, WATCHED])
@pytest.mark.parametrize("is_empty", [True, False])
def test_index_events_are_combined_only_for_nonempty_collection(
    client: Client, target: str | int, is_empty: bool
) -> None:
    """ddl_create_drop_index_events.js: an empty collection gets one event per index, and each
    dropped index gets one."""
    client.shop.create_collection(WATCHED)
    if not is_empty:
        client.shop[WATCHED].insert_one({"b": 1})
    first = {"v": 2, "key": {"b": 1, "c": -1}, "name": "b_1_c_-1", "sparse": True}
    second = {"v": 2, "key": {"d": "hashed"}, "name": "d_hashed", "sparse": True}
    cursor, name = _opened(client, target)
    keys = [{each: index[each] for each in ("key", "name", "sparse")} for index in (first, second)]
    client.shop.command("createIndexes", WATCHED, indexes=keys)
    client.shop.command("dropIndexes", WATCHED, index=["b_1_c_-1", "d_hashed"])
    found = fetched(client, cursor, name)["nextBatch"]
    built = [[first], [second]] if is_empty else [[first, second]]
    assert [event["operationDescription"]["indexes"] for event in found] == [
        *built,
        [first],
        [second],
    ]
    assert kinds(found) == ["createIndexes"] * len(built) + ["dropIndexes"] * 2


@pytest.mark.parametrize("target", [1, WATCHED])
def test_modify_event_contains_previous_options(client: Client, target: str | int) -> None:
    """ddl_coll_mod_event.js"""
    client.shop.create_collection(WATCHED)
    cursor, name = _opened(client, target)
    client.shop.command("collMod", WATCHED, validationLevel="strict")
    client.shop.command("collMod", WATCHED, validationLevel="off")
    first, second = fetched(client, cursor, name)["nextBatch"]
    assert first["operationDescription"] == {"validationLevel": "strict"}
    assert first["stateBeforeChange"] == {"collectionOptions": {"uuid": _uuid(client)}}
    assert second["operationDescription"] == {"validationLevel": "off"}
    before = {"uuid": _uuid(client), "validationLevel": "strict"}
    assert second["stateBeforeChange"] == {"collectionOptions": before}


_PIPELINE: list[Document] = [{"$match": {"a": 2}}]


def _use_a_view(client: Client) -> None:
    client.shop.create_collection("view", viewOn="base", pipeline=_PIPELINE)
    client.shop.command("collMod", "view", viewOn="base", pipeline=[])
    client.shop.view.drop()


def test_database_stream_contains_view_events(client: Client) -> None:
    """ddl_view_events.js: view events have no collection UUID, and each one is a resume point."""
    client.shop.base.insert_one({"_id": 1})
    cursor, name = _opened(client, 1)
    _use_a_view(client)
    found = fetched(client, cursor, name)["nextBatch"]
    assert kinds(found) == ["create", "modify", "drop"]
    descriptions = [event.get("operationDescription") for event in found]
    assert descriptions == [
        {"viewOn": "base", "pipeline": _PIPELINE},
        {"viewOn": "base", "pipeline": []},
        None,
    ]
    assert not any("collectionUUID" in event for event in found)
    for number, event in enumerate(found):
        later = events(client, target=1, showExpandedEvents=True, resumeAfter=event["_id"])
        assert later == found[number + 1 :]


def test_ordinary_stream_omits_view_events(client: Client) -> None:
    """whole_db_metadata_notifications.js, ddl_view_events.js"""
    client.shop.base.insert_one({"_id": 1})
    ordinary, (of_base, _) = opened(client, target=1), _opened(client, "base")
    of_view, _ = _opened(client, "view")
    _use_a_view(client)
    client.shop.create_collection("view")
    client.shop.base.insert_one({"_id": 2})
    assert kinds(fetched(client, ordinary, "$cmd.aggregate")["nextBatch"]) == ["insert"]
    assert kinds(fetched(client, of_base, "base")["nextBatch"]) == ["insert"]
    (create,) = fetched(client, of_view, "view")["nextBatch"]
    assert create["operationDescription"] == {"idIndex": _ID_INDEX}


def test_ordinary_stream_omits_expanded_events(client: Client) -> None:
    """document_source_change_stream.cpp: the filter of classic events"""
    began = now(client)
    client.shop.create_collection(WATCHED)
    client.shop[WATCHED].create_index("a")
    client.shop.command("collMod", WATCHED, validationLevel="off")
    client.shop[WATCHED].drop()
    found = events(client, target=1, startAtOperationTime=began)
    assert kinds(found) == ["drop"]
    assert "collectionUUID" not in found[0]
