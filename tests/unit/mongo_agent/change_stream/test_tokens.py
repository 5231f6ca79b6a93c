"""Tokens and times decoded from raw events."""

import bson
import pytest
from bson import Timestamp

from mongo_agent.change_stream.tokens import NO_EVENTS, UnreadableEventError, time_at, token_at
from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import ChangeEvents

TOKEN = {"_data": "8263D2A4F6000000022B0229296E04"}


def test_tokens_and_times_are_read_by_index() -> None:
    given = ({"_id": TOKEN}, {"_id": {"_data": "82"}, "clusterTime": Timestamp(9, 1)})
    events = ChangeEvents([bson.encode(each) for each in given])
    assert [token_at(events, index) for index in (0, -1)] == [TOKEN, {"_data": "82"}]
    assert [time_at(events, index) for index in (0, -1)] == [
        ClusterTime(1674749174, 2),
        ClusterTime(9, 1),
    ]


def test_bytes_without_token_or_time_are_unreadable() -> None:
    events = ChangeEvents([bson.encode({"n": 1})])
    with pytest.raises(ValueError, match="an event without `_id`"):
        token_at(events, 0)
    with pytest.raises(ValueError, match="an event without a cluster time"):
        time_at(events, 0)


def test_damaged_bytes_are_unreadable() -> None:
    noise = bson.encode({"_id": {"_data": b"\x04"}}).replace(b"\x05_data", b"\x42_data")
    with pytest.raises(UnreadableEventError, match="type"):
        token_at(ChangeEvents([noise]), 0)


def test_no_events_constant_is_empty() -> None:
    assert list(NO_EVENTS) == []
