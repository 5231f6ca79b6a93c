"""Valid namespaces and pipeline stages of a stream.

Sources: jstests/change_streams/allowlist.js, pipeline_cannot_modify_id_field.js, error_label.js,
invalid_namespaces.js, ban_from_views.js, split_large_event.js,
src/mongo/db/pipeline/document_source_change_stream.cpp.
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
    now,
    opened,
    refused,
)

_ALLOWED: list[Document] = [
    {"$match": {"_id": {"$exists": True}}},
    {"$project": {"_id": 1}},
    {"$addFields": {"newField": 1}},
    {"$set": {"newField": 1}},
    {"$unset": "newField"},
    {"$replaceRoot": {"newRoot": {"_id": "$_id"}}},
    {"$replaceWith": {"_id": "$_id"}},
    {"$redact": "$$DESCEND"},
]
_BANNED: list[Document] = [
    {"$group": {"_id": "$_id"}},
    {"$sort": {"_id": 1}},
    {"$skip": 100},
    {"$limit": 100},
    {"$sample": {"size": 100}},
    {"$unwind": "$_id"},
    {"$lookup": {"from": "c", "as": "a", "localField": "_id", "foreignField": "_id"}},
    {"$graphLookup": {"from": "c", "startWith": "$_id"}},
    {"$bucketAuto": {"groupBy": "$_id", "buckets": 2}},
    {"$facet": {"all": [{"$match": {}}]}},
]
_PRUNE = "$$PRUNE"
_SPLIT: Document = {"$changeStreamSplitLargeEvent": {}}


@pytest.mark.parametrize("stages", [*([each] for each in _ALLOWED), _ALLOWED])
def test_allowed_pipeline_stages_are_accepted(client: Client, stages: list[Document]) -> None:
    """allowlist.js"""
    began = now(client)
    client.shop[WATCHED].insert_one({"_id": 1})
    assert len(events(client, *stages, startAtOperationTime=began)) == 1


@pytest.mark.parametrize("stage", _BANNED)
def test_banned_pipeline_stages_are_rejected(client: Client, stage: Document) -> None:
    """allowlist.js"""
    refused(client, 20, stage)


@pytest.mark.parametrize(
    "stage",
    [
        {"$project": {"_id": 0}},
        {"$project": {"_id": 0, "other": 1}},
        {"$project": {"_id._data": 0}},
        {"$project": {"_id.other": 1}},
        {"$project": {"_id": "$other"}},
        {"$addFields": {"_id": "new"}},
        {"$addFields": {"_id._data": "new"}},
        {"$addFields": {"_id.other": "new"}},
        {"$unset": "_id"},
        {"$replaceRoot": {"newRoot": {"other": "$_id"}}},
        # Prunes each document without an `_id`, including the token.
        {"$redact": {"$cond": {"if": {"$gt": ["$_id", {}]}, "then": "$$DESCEND", "else": _PRUNE}}},
    ],
)
def test_pipeline_must_not_change_resume_token(client: Client, stage: Document) -> None:
    """pipeline_cannot_modify_id_field.js, error_label.js: the first event is an error."""
    began = now(client)
    cursor = opened(client, stage, startAtOperationTime=began)
    client.shop[WATCHED].insert_one({"_id": 1})
    with pytest.raises(OperationFailure) as raised:
        client.shop.command("getMore", cursor["id"], collection=WATCHED)
    assert raised.value.code == 280
    assert raised.value.has_error_label("NonResumableChangeStreamError")


@pytest.mark.parametrize(
    "stages",
    [
        [{"$project": {"_id": "$_id", "other": 1}}],
        [{"$project": {"_id.other": 0}}],
        [{"$project": {"other": "$_id"}}],
        [{"$project": {"other": "$_id"}}, {"$project": {"_id": "$other"}}],
        [{"$project": {"_id._data": 1, "_id._typeBits": 1}}],
        [{"$addFields": {"other": "$_id"}}, {"$addFields": {"_id": "$other"}}],
        [{"$redact": "$$KEEP"}],
    ],
)
def test_stages_that_preserve_token_are_accepted(client: Client, stages: list[Document]) -> None:
    """pipeline_cannot_modify_id_field.js"""
    began = now(client)
    client.shop[WATCHED].insert_one({"_id": 1})
    assert len(events(client, *stages, startAtOperationTime=began)) == 1


@pytest.mark.parametrize(
    ("database", "target", "stage", "code"),
    [
        ("admin", 1, {}, 73),
        ("admin", "c", {}, 73),
        ("config", 1, {}, 73),
        ("local", "c", {}, 73),
        ("shop", "system.users", {}, 73),
        ("shop", "system.profile", {}, 73),
        ("shop", "systemindexes", {}, None),
        ("shop", "system_users", {}, None),
        ("admin", 1, {"allChangesForCluster": True}, None),
        ("admin", "c", {"allChangesForCluster": True}, 72),
        ("shop", 1, {"allChangesForCluster": True}, 72),
        ("config", 1, {"allChangesForCluster": True}, 72),
        ("shop", 1, {"unknown": 1}, 40415),
        ("shop", 1, 5, 50808),
        ("shop", 1, {"fullDocument": "sometimes"}, 2),
        ("shop", 1, {"fullDocumentBeforeChange": "default"}, 2),
    ],
)
def test_stream_opens_only_on_valid_namespaces(
    client: Client, database: str, target: Any, stage: Any, code: int | None
) -> None:
    """invalid_namespaces.js, document_source_change_stream.cpp"""
    command = {"aggregate": target, "pipeline": [{"$changeStream": stage}], "cursor": {}}
    if code is None:
        client[database].command(command)
        return
    with pytest.raises(OperationFailure) as raised:
        client[database].command(command)
    assert raised.value.code == code


def test_view_rejects_change_stream(client: Client) -> None:
    """ban_from_views.js"""
    client.shop[WATCHED].insert_one({"_id": 1})
    client.shop.create_collection("view", viewOn=WATCHED, pipeline=[{"$match": {"_id": 1}}])
    refused(client, 166, target="view")
    stream: list[Document] = [{"$changeStream": {}}]
    for command in ({"create": "other"}, {"collMod": "view"}):
        with pytest.raises(OperationFailure) as raised:
            client.shop.command({**command, "viewOn": WATCHED, "pipeline": stream})
        assert raised.value.code == 167


@pytest.mark.parametrize(
    ("stages", "code"),
    [([_SPLIT, _SPLIT], 7182802), ([_SPLIT, {"$project": {"fullDocument": 0}}], 7182802)],
)
def test_split_stage_must_be_last(client: Client, stages: list[Document], code: int) -> None:
    """split_large_event.js"""
    refused(client, code, *stages)


def test_split_stage_requires_change_stream(client: Client) -> None:
    """split_large_event.js"""
    with pytest.raises(OperationFailure) as raised:
        client.shop[WATCHED].aggregate([_SPLIT])
    assert raised.value.code == 20


def test_split_event_resumes_at_fragment() -> None:
    """split_large_event.js: three large fields give three fragments."""
    with (
        MongoReplicaSet(version="7.0.14", max_event_bytes=40_000) as replica_set,
        Client(replica_set.connection_string) as client,
    ):
        recorded = {"enabled": True}
        customers = client.shop.create_collection(WATCHED, changeStreamPreAndPostImages=recorded)
        customers.insert_one({"_id": "a", "text": "x" * 18_000})
        start = {"resumeAfter": opened(client)["postBatchResumeToken"]}
        customers.update_one({"_id": "a"}, {"$set": {"text": "y" * 18_000}})
        images = {"fullDocument": "required", "fullDocumentBeforeChange": "required"}
        refused(client, 10334, **images, **start)
        parts = events(client, _SPLIT, **images, **start)
        assert [part["splitEvent"] for part in parts] == [
            {"fragment": number, "of": 3} for number in (1, 2, 3)
        ]
        tokens = [part["_id"] for part in parts]
        # A filter on the whole event does not make the event too large.
        wanted = [{name: {"$exists": True}} for name in ("fullDocument", "updateDescription")]
        filtered = events(client, {"$match": {"$or": wanted}}, _SPLIT, **images, **start)
        assert filtered == parts
        assert events(client, _SPLIT, **images, resumeAfter=tokens[1]) == parts[2:]
        # The resume point does not exist without the stage, or if the event splits differently.
        refused(client, 280, **images, resumeAfter=tokens[1])
        less = {"$project": {"fullDocument.text": 0}}
        refused(client, 280, less, _SPLIT, **images, resumeAfter=tokens[2])
        refused(client, 280, _SPLIT, resumeAfter=tokens[2])
        # Without images the event is not too large.
        (whole,) = events(client, _SPLIT, **start)
        assert "splitEvent" not in whole
