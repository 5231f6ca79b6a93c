"""The start of a stream, and rejected start options.

Sources: src/mongo/db/pipeline/document_source_change_stream.cpp (the checks of a specification),
jstests/change_streams/start_at_cluster_time.js, resume_from_high_water_mark_token.js,
shell_helper_resume_token.js, filter_excludes_resume_point.js.
"""

from typing import Any

import pytest
from bson import Timestamp

from tests.support.mongodb.server.client import Client
from tests.unit.support.mongodb.server.streams import (
    WATCHED,
    Document,
    events,
    fetched,
    kinds,
    now,
    opened,
    refused,
)


def _tokens(client: Client) -> Document:
    """A start token of each kind, from before and within some events."""
    mark = opened(client)["postBatchResumeToken"]
    began = now(client)
    client.shop[WATCHED].insert_many([{"_id": 1}, {"_id": 2}])
    first = events(client, resumeAfter=mark)[0]
    client.shop[WATCHED].drop()
    drop, invalidate = events(client, resumeAfter=first["_id"])[-2:]
    client.drop_database("shop")
    of_database = events(client, target=1, startAtOperationTime=began)[-2]
    assert of_database["operationType"] == "dropDatabase"
    return {
        "mark": mark,
        "event": first["_id"],
        "drop": drop["_id"],
        "invalidate": invalidate["_id"],
        "dropDatabase": of_database["_id"],
        "time": first["clusterTime"],
    }


@pytest.mark.parametrize(
    ("starts", "code"),
    [
        ({"resumeAfter": "event", "startAfter": "event"}, 50865),
        ({"resumeAfter": "event", "startAtOperationTime": "time"}, 40674),
        ({"startAfter": "event", "startAtOperationTime": "time"}, 40674),
        ({"resumeAfter": "event", "startAfter": "event", "startAtOperationTime": "time"}, 50865),
        ({"resumeAfter": "invalidate"}, 260),
        # A stream of one collection resumes after an event of one collection.
        ({"resumeAfter": "dropDatabase"}, 260),
        ({"startAfter": "dropDatabase"}, 260),
    ],
)
def test_conflicting_start_options_are_rejected(
    client: Client, starts: dict[str, str], code: int
) -> None:
    """document_source_change_stream.cpp"""
    tokens = _tokens(client)
    refused(client, code, **{name: tokens[kind] for name, kind in starts.items()})


@pytest.mark.parametrize("kind", ["mark", "event", "drop", "dropDatabase"])
@pytest.mark.parametrize("start", ["resumeAfter", "startAfter"])
def test_database_stream_accepts_tokens_of_any_kind(client: Client, start: str, kind: str) -> None:
    """document_source_change_stream.cpp: tokens with and without a collection."""
    token = _tokens(client)[kind]
    every = ["insert", "insert", "drop", "dropDatabase", "invalidate"]
    at = {"mark": 0, "event": 1, "drop": 3, "dropDatabase": 4}[kind]
    assert kinds(events(client, target=1, **{start: token})) == every[at:]


def test_stream_start_time_is_inclusive(client: Client) -> None:
    """start_at_cluster_time.js"""
    began = now(client)
    client.shop[WATCHED].insert_many([{"_id": 1}, {"_id": 2}])
    both = events(client, startAtOperationTime=began)
    assert [event["documentKey"]["_id"] for event in both] == [1, 2]
    assert events(client, startAtOperationTime=both[0]["clusterTime"]) == both
    assert events(client, startAtOperationTime=both[1]["clusterTime"]) == both[1:]


def test_stream_with_future_start_waits(client: Client) -> None:
    """start_at_cluster_time.js"""
    time = now(client)
    later = Timestamp(time.time + 6 * 3600, 1)
    cursor = opened(client, startAtOperationTime=later)
    client.shop[WATCHED].insert_one({"_id": 1})
    assert fetched(client, cursor)["nextBatch"] == []


@pytest.mark.parametrize("start", ["resumeAfter", "startAfter"])
def test_high_water_mark_outlives_collection(client: Client, start: str) -> None:
    """resume_from_high_water_mark_token.js: before, during and after the collection's existence."""
    mark = opened(client)["postBatchResumeToken"]
    customers = client.shop[WATCHED]
    customers.insert_one({"_id": 1})
    assert kinds(events(client, **{start: mark})) == ["insert"]
    customers.drop()
    assert kinds(events(client, **{start: mark})) == ["insert", "drop", "invalidate"]
    customers.insert_one({"_id": 2})
    assert kinds(events(client, **{start: mark})) == ["insert", "drop", "invalidate"]


def test_stream_without_events_advances_token(client: Client) -> None:
    """shell_helper_resume_token.js"""
    cursor = opened(client)
    client.shop.unrelated.insert_one({})
    moved = fetched(client, cursor)["postBatchResumeToken"]["_data"]
    assert moved > cursor["postBatchResumeToken"]["_data"]
    client.shop[WATCHED].insert_one({"_id": 1})
    client.shop.unrelated.insert_one({})
    batch = fetched(client, cursor)
    token = batch["nextBatch"][0]["_id"]["_data"]
    assert moved < token < batch["postBatchResumeToken"]["_data"]


@pytest.mark.parametrize(
    "stages", [[{"$match": {"fullDocument._id": {"$gt": 1}}}], [{"$match": {"a": 1}}]]
)
def test_filter_must_not_hide_resume_event(client: Client, stages: list[Any]) -> None:
    """filter_excludes_resume_point.js: the error appears with the first event that passes the
    filter."""
    began = now(client)
    client.shop[WATCHED].insert_many([{"_id": 1}, {"_id": 2}])
    token = events(client, startAtOperationTime=began)[0]["_id"]
    if "a" in stages[0]["$match"]:
        assert events(client, *stages, resumeAfter=token) == []
    else:
        refused(client, 280, *stages, resumeAfter=token)
