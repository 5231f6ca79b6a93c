"""CRUD compared with a plain dictionary, and the change stream with the same history."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pymongo.errors import DuplicateKeyError, OperationFailure

from tests.support.mongodb.server.client import Client

Document = dict[str, Any]
IDS = st.integers(0, 4)
VALUES = st.integers(-3, 3) | st.text("ab", max_size=2) | st.none() | st.booleans()
FIELDS = st.sampled_from(["a", "b"])
STEPS = st.one_of(
    st.tuples(st.just("insert"), IDS, FIELDS, VALUES),
    st.tuples(st.just("replace"), IDS, FIELDS, VALUES),
    st.tuples(st.just("set"), IDS, FIELDS, VALUES),
    st.tuples(st.just("unset"), IDS, FIELDS, VALUES),
    st.tuples(st.just("count"), IDS, FIELDS, VALUES),
    st.tuples(st.just("push"), IDS, FIELDS, VALUES),
    st.tuples(st.just("delete"), IDS, FIELDS, VALUES),
)
UPDATES: dict[str, Callable[[str, Any], Document]] = {
    "set": lambda field, value: {"$set": {f"sub.{field}": value}},
    "unset": lambda field, value: {"$unset": {f"sub.{field}": ""}},
    "count": lambda field, value: {"$inc": {"count": 1}},
    "push": lambda field, value: {"$push": {"list": value}},
}


def expected_after(before: Document, kind: str, field: str, value: Any) -> Document:
    after = copy.deepcopy(before)
    match kind:
        case "replace":
            return {"_id": before["_id"], field: value}
        case "set":
            after.setdefault("sub", {})[field] = value
        case "unset":
            after.get("sub", {}).pop(field, None)
        case "count":
            after["count"] = after.get("count", 0) + 1
        case "push":
            after.setdefault("list", []).append(value)
    return after


def is_same(left: Document, right: Document) -> bool:
    """Equal, and not only because True is 1 in Python."""
    return repr(left) == repr(right)


def applied(before: Document, description: Document) -> Document:
    """The document after applying `updateDescription` by paths."""
    after = copy.deepcopy(before)
    for path, value in description["updatedFields"].items():
        *parents, last = path.split(".")
        place: Any = after
        for name in parents:
            place = place.setdefault(name, {})
        if isinstance(place, list):
            assert int(last) == len(place)
            place.append(value)
        else:
            place[last] = value
    for path in description["removedFields"]:
        *parents, last = path.split(".")
        place = after
        for name in parents:
            place = place[name]
        del place[last]
    return after


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.lists(STEPS, max_size=25))
def test_random_history_matches_model(
    client: Client, steps: list[tuple[str, int, str, Any]]
) -> None:
    collection = client.shop.customers
    collection.drop()
    model: dict[int, Document] = {}
    wanted: list[tuple[str, int, Document | None]] = []
    with collection.watch(max_await_time_ms=1) as stream:
        for kind, key, field, value in steps:
            before = model.get(key)
            if kind == "insert":
                document = {"_id": key, field: value}
                if before is not None:
                    with pytest.raises(DuplicateKeyError):
                        collection.insert_one(document)
                    continue
                collection.insert_one(document)
                model[key] = document
                wanted.append(("insert", key, document))
            elif kind == "delete":
                assert collection.delete_one({"_id": key}).deleted_count == (before is not None)
                if before is not None:
                    del model[key]
                    wanted.append(("delete", key, None))
            else:
                if kind == "replace":
                    result = collection.replace_one({"_id": key}, {field: value})
                else:
                    result = collection.update_one({"_id": key}, UPDATES[kind](field, value))
                assert result.matched_count == (before is not None)
                if before is None:
                    continue
                model[key] = expected_after(before, kind, field, value)
                # A replacement without `_id` is a write, even if its fields are equal.
                is_changed = kind == "replace" or not is_same(before, model[key])
                assert result.modified_count == is_changed
                if is_changed:
                    wanted.append(("replace" if kind == "replace" else "update", key, model[key]))
        found = {document["_id"]: document for document in collection.find()}
        assert found.keys() == model.keys()
        assert all(is_same(found[key], document) for key, document in model.items())
        state: dict[int, Document] = {}
        for operation, key, after in wanted:
            event = stream.next()
            assert (event["operationType"], event["documentKey"]) == (operation, {"_id": key})
            assert event["ns"] == {"db": "shop", "coll": "customers"}
            if operation == "update":
                state[key] = applied(state[key], event["updateDescription"])
            elif operation == "delete":
                del state[key]
            else:
                state[key] = event["fullDocument"]
            assert after is None or is_same(state[key], after)
        assert stream.try_next() is None


def test_bounds_follow_collation_of_collection(client: Client) -> None:
    folding = client.shop.create_collection("f", collation={"locale": "en", "strength": 2})
    plain = client.shop.plain
    names = ["b", "A", "C", "a2", 1]
    for collection in (folding, plain):
        collection.insert_many([{"_id": name} for name in names])
    for collection, first, second in (
        (folding, [1, "A", "a2"], ["b", "C"]),
        (plain, [1, "A", "C", "a2"], ["b"]),
    ):
        upper = collection.find(hint="_id_").max([("_id", "b")]).sort("_id")
        assert [each["_id"] for each in upper] == first
        lower = collection.find(hint="_id_").min([("_id", "b")]).sort("_id")
        assert [each["_id"] for each in lower] == second


@pytest.mark.parametrize("query", [{"$or": True}, {"$and": []}, {"a": {"$unknown": 1}}])
def test_malformed_query_fails_without_documents(client: Client, query: dict[str, Any]) -> None:
    with pytest.raises(OperationFailure) as raised:
        client.shop.customers.find_one(query)
    assert raised.value.code == 2


def test_capped_collection_rejects_snapshot_read(client: Client) -> None:
    client.shop.create_collection("c", capped=True, size=4096)
    client.shop.c.insert_one({"_id": 1})
    command = {"find": "c", "readConcern": {"level": "snapshot"}}
    with pytest.raises(OperationFailure) as refused:
        client.shop.command(command)
    assert refused.value.code == 246
