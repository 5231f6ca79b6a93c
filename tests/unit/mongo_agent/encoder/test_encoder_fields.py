"""Excluded and renamed fields.

Expectations come from Debezium's FieldExcludeListIT and FieldRenamesIT, and from a second
implementation over plain dictionaries."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mongo_agent.encoder import MongoBatch, MongoEncoder
from tests.support.mongodb import encodings
from tests.support.mongodb.bson_documents import Json, event
from tests.support.mongodb.encodings import copied

_ADDRESS = {"number": 34, "street": "Claude Debussylaan", "city": "Amsterdam"}
_SALLY: Json = {
    "_id": 7,
    "name": "Sally",
    "phone": 123,
    "address": _ADDRESS,
    "active": True,
    "scores": [1.5, 3.5],
}


def encoder(
    excluded: Iterable[str] = (), renamed: Iterable[str] = (), layout: str = "debezium-3"
) -> MongoEncoder:
    return encodings.encoder(
        layout,
        document_json="relaxed",
        excluded_fields=[f"*.cust.{rule}" for rule in excluded],
        renamed_fields=[f"*.cust.{rule}" for rule in renamed],
    )


def value_of(batch: MongoBatch) -> Json:
    assert batch.failures == []
    read: Json = json.loads(batch.messages(0, 1)[0][2] or b"")
    return read


def without(document: Json, *names: str) -> Json:
    return {name: value for name, value in document.items() if name not in names}


def described(making: MongoEncoder, **description: object) -> Json:
    value = value_of(making.encode([event("update", updateDescription=description)]))
    read: Json = value["updateDescription"]
    if read["updatedFields"] is not None:
        read["updatedFields"] = json.loads(read["updatedFields"])
    return read


UPDATED = [
    ("name", "name:n", {"name": 1, "x": 2}, {"x": 2}, {"x": 2, "n": 1}),
    ("a", "a:n", {"a.b": 1, "ab": 2}, {"ab": 2}, {"ab": 2, "n.b": 1}),
    ("a", "a:n", {"a.0.b": 1}, {}, {"n.0.b": 1}),
    ("a.b", "a.b:n", {"a.b": 1}, {}, {"a.n": 1}),
    ("a.b", "a.b:n", {"a.0.b": 1, "a.1.c": 2}, {"a.1.c": 2}, {"a.1.c": 2, "a.0.n": 1}),
    ("a.b", "a.b:n", {"a.0.b.0.c": 1}, {}, {"a.0.n.0.c": 1}),
    ("a.b", "a.b:n", {"a": {"b": 1, "c": 2}}, {"a": {"c": 2}}, {"a": {"c": 2, "n": 1}}),
    ("a.b", "a.b:n", {"a": [{"b": 1}, 5]}, {"a": [{}, 5]}, {"a": [{"n": 1}, 5]}),
    ("a.b", "a.b:n", {"a.0": {"b": 1}, "a.1": {"b": 2}}, {"a.0": {}, "a.1": {}}, None),
    ("a.b", "a.b:n", {"a.0.0.b": 1}, {"a.0.0.b": 1}, {"a.0.0.b": 1}),
    ("a.b", "a.b:n", {"a": 1, "a2.b": 2}, {"a": 1, "a2.b": 2}, {"a": 1, "a2.b": 2}),
    ("a.b.c", "a.b.c:n", {"a.b": {"c": 1}}, {"a.b": {}}, {"a.b": {"n": 1}}),
]


@pytest.mark.parametrize(("excluded", "renaming", "fields", "left", "renamed"), UPDATED)
def test_field_rules_apply_to_updated_fields(
    excluded: str, renaming: str, fields: Json, left: Json, renamed: Json | None
) -> None:
    assert described(encoder([excluded]), updatedFields=fields)["updatedFields"] == left
    if renamed is not None:
        shown = described(encoder((), [renaming]), updatedFields=fields)["updatedFields"]
        assert list(shown.items()) == list(renamed.items())


def test_field_rules_apply_to_removals_and_truncations() -> None:
    description = {
        "updatedFields": {},
        "removedFields": ["name", "address.number", "address.city", "items.0.price"],
        "truncatedArrays": [
            {"field": "tags", "newSize": 1},
            {"field": "items.0.prices", "newSize": 2},
        ],
    }
    left = described(encoder(["name", "address.number", "items.price", "tags"]), **description)
    assert left["removedFields"] == ["address.city"]
    assert left["truncatedArrays"] == [{"field": "items.0.prices", "size": 2}]
    nothing = described(encoder(["name", "address", "items", "tags"]), **description)
    assert (nothing["removedFields"], nothing["truncatedArrays"]) == (None, None)
    names = ["name:n", "address.number:no", "address:a", "items.price:p", "items.prices:ps"]
    renamed = described(encoder((), names), **description)
    assert renamed["removedFields"] == ["n", "a.no", "a.city", "items.0.p"]
    assert renamed["truncatedArrays"][1] == {"field": "items.0.ps", "size": 2}
    # A rule for a nested field does not affect its removed parent.
    inside = described(encoder(["name.first"], ["tags.x:y"]), **description)
    assert inside["removedFields"] == description["removedFields"]


def test_rename_to_existing_field_is_rejected() -> None:
    making = encoder((), ["address.street:city"])
    batch = making.encode([event("insert", fullDocument=_SALLY), event("insert")])
    assert [refused.event for refused in batch.failures] == [0]
    assert 'the field "street" cannot be renamed to "city": the document has that field' in (
        batch.failures[0].cause
    )
    assert len(batch) == 1
    update = event("update", updateDescription={"updatedFields": {"a.street": 1, "a.city": 2}})
    assert len(encoder((), ["a.street:city"]).encode([update]).failures) == 1


def test_field_rules_ignore_other_collections() -> None:
    elsewhere = event("insert", fullDocument=_SALLY, ns={"db": "shop", "coll": "custom"})
    [ruled] = encoder(["name"]).encode([elsewhere], at_ns=1).messages(0, 1)
    [plain] = encoder().encode([elsewhere], at_ns=1).messages(0, 1)
    assert ruled == plain


def test_key_and_event_id_ignore_field_rules() -> None:
    raw = event("insert", fullDocument=_SALLY)
    _, key, _, headers, _ = encoder(["_id", "name"]).encode([raw], at_ns=1).messages(0, 1)[0]
    _, plain_key, _, plain_headers, _ = encoder().encode([raw], at_ns=1).messages(0, 1)[0]
    assert (key, headers) == (plain_key, plain_headers)
    _, copied_key, *_ = copied(encoder(["_id"]), _SALLY).messages(0, 1)[0]
    assert copied_key == key


def test_field_rules_apply_to_native_layout() -> None:
    raw = event(
        "update",
        documentKey={"_id": 7, "country": "NL"},
        fullDocument=_SALLY,
        updateDescription={
            "updatedFields": {"name": 1, "x": 2},
            "disambiguatedPaths": {"a.0": ["a", "0"]},
        },
    )
    value = value_of(encoder(["name", "_id", "country"], layout="mongodb").encode([raw]))
    assert value["documentKey"] == {"_id": 7}
    assert value["fullDocument"] == without(_SALLY, "name", "_id")
    assert value["updateDescription"] == {"updatedFields": {"x": 2}}
    read = value_of(copied(encoder(["name", "_id"], layout="mongodb"), _SALLY))
    assert read["documentKey"] == {"_id": 7}
    assert read["fullDocument"] == without(_SALLY, "name", "_id")


@pytest.mark.parametrize(
    ("excluded", "renamed", "said"),
    [
        (["shop.cust"], [], "`shop.cust` is not of the form `database.collection.field`"),
        ([], ["a.b.c"], "`a.b.c` is not of the form `database.collection.field:name`"),
        ([], ["a.b.c:c"], "`a.b.c:c` renames a field to its own name"),
    ],
)
def test_invalid_field_rules_are_rejected(
    excluded: list[str], renamed: list[str], said: str
) -> None:
    with pytest.raises(ValueError, match="^" + said.replace(".", r"\.") + "$"):
        encodings.encoder(excluded_fields=excluded, renamed_fields=renamed)


class TakenError(Exception):
    """A field with the new name exists."""


def ruled(document: Any, path: list[str], new_name: str | None) -> Any:
    """The plain document after applying one rule."""
    if not isinstance(document, dict):
        return document
    name, *deeper = path
    if name not in document:
        return document
    if deeper:
        inner = document[name]
        if isinstance(inner, list):
            changed: Any = [ruled(item, deeper, new_name) for item in inner]
        else:
            changed = ruled(inner, deeper, new_name)
        return {**document, name: changed}
    left = without(document, name)
    if new_name is None:
        return left
    if new_name in left:
        raise TakenError
    return {**left, new_name: document[name]}


_NAMES = st.sampled_from("abc")
_VALUES = st.recursive(
    st.integers(0, 3),
    lambda inner: (
        st.dictionaries(_NAMES, inner, max_size=3)
        | st.lists(inner | st.lists(inner, max_size=2), max_size=2)
    ),
    max_leaves=10,
)
_PATHS = st.lists(_NAMES, min_size=1, max_size=3)


@given(
    st.dictionaries(_NAMES, _VALUES, max_size=3),
    st.lists(_PATHS, max_size=3),
    st.lists(st.tuples(_PATHS, st.sampled_from("abcd")), max_size=3),
)
def test_field_rules_match_second_implementation(
    document: Json, excluded: list[list[str]], renamed: list[tuple[list[str], str]]
) -> None:
    renamed = [(path, name) for path, name in renamed if path[-1] != name]
    making = encoder(
        [".".join(path) for path in excluded],
        [f"{'.'.join(path)}:{name}" for path, name in renamed],
    )
    document = {"_id": 7, **document}
    given_events = [
        event("insert", fullDocument=document),
        event("delete", fullDocumentBeforeChange=document),
    ]
    batch, copies = making.encode(given_events), copied(making, document)
    expected: Any = document
    try:
        for path in excluded:
            expected = ruled(expected, path, None)
        for path, name in renamed:
            expected = ruled(expected, path, name)
    except TakenError:
        assert (len(batch.failures), len(copies.failures)) == (2, 1)
        return
    deleted = json.loads(batch.messages(1, 2)[0][2] or b"")
    texts = (value_of(batch)["after"], deleted["before"], value_of(copies)["after"])
    # A renamed field becomes the last field of its document.
    assert [json.dumps(json.loads(text)) for text in texts] == [json.dumps(expected)] * 3
