"""Parsed replies, compared with the values that pymongo writes and reads."""

from typing import Any

import bson
import pytest
from bson import Int64, Timestamp
from bson.raw_bson import RawBSONDocument

from mongo_agent.encoder import ChangeEvents, FragmentJoiner, MongoEncoder, StreamReply
from tests.support.mongodb.bson_documents import encoded, event

ENCODER = MongoEncoder(topic_prefix="L", replica_set="rs0", node_id="a")
TOKEN = {"_data": "8263D2A4F6000000022B022C0100296E5A1004"}


def reply_of(events: list[bytes], batch: str = "nextBatch", **cursor: Any) -> bytes:
    documents = [RawBSONDocument(each) for each in events]
    told = {batch: documents, "id": Int64(7), "ns": "admin.$cmd.aggregate", **cursor}
    return encoded({"cursor": told, "ok": 1.0, "operationTime": Timestamp(1, 2)})


def test_reply_contains_events_and_cursor() -> None:
    given_events = [bson.encode({"n": content}) for content in (b"", b"\0", b"abc")]
    reply = reply_of(given_events, "firstBatch", postBatchResumeToken=TOKEN)
    for raw in (reply, memoryview(bytearray(reply))):
        found = StreamReply(raw)
        assert (list(found.events), len(found.events)) == (given_events, 3)
        assert (found.cursor_id, found.namespace) == (7, "admin.$cmd.aggregate")
        assert (bson.decode(found.token or b""), found.operation_time) == (TOKEN, (1, 2))
    assert StreamReply(reply_of([])).token is None


def test_events_are_accessed_by_index() -> None:
    given_events = [bson.encode({"n": number}) for number in range(3)]
    events = StreamReply(reply_of(given_events)).events
    assert [events[0], events[2], events[-1], events[-3]] == [
        given_events[at] for at in (0, 2, 2, 0)
    ]
    assert (bool(events), repr(events)) == (True, "<ChangeEvents: 3>")
    for beyond in (3, -4):
        with pytest.raises(IndexError):
            events[beyond]


def test_events_outlive_reply() -> None:
    given_events = [event("update", number, fullDocument={"n": number}) for number in range(50)]
    events: ChangeEvents = StreamReply(reply_of(given_events)).events
    batch, expected = (ENCODER.encode(each, at_ns=1) for each in (events, given_events))
    assert batch.messages(0, 50) == expected.messages(0, 50)
    assert batch.position_after(50) == 50


def test_invalid_fragments_and_indexes_are_errors() -> None:
    part = ChangeEvents([encoded({"_id": TOKEN, "splitEvent": {"fragment": 2, "of": 2}})])
    with pytest.raises(ValueError, match="found fragment 2 of 2; expected fragment 1 of 2"):
        FragmentJoiner().join(part)
    with pytest.raises(IndexError, match="no event 1; the batch has 1"):
        part.time(1)
    for events, token in ((part, "01"), (ChangeEvents([b"noise"]), TOKEN["_data"])):
        with pytest.raises(ValueError, match="does not begin with a cluster time"):
            events.after(token)
