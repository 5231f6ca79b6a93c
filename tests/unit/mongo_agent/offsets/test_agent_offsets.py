"""A stream resumes after the last delivered event, even if filters or tokens changed."""

from dataclasses import replace

import bson
import pytest

from mongo_agent.change_stream.position import (
    Opening,
    StreamPosition,
    opening,
    parse_position,
    reopening,
)
from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import ChangeEvents
from mongo_agent.server.errors import Failure
from sidecar.errors import OffsetStoreError
from sidecar.offsets.properties_store import decode, encode

TIME = ClusterTime(0x65C0FFEE, 3)
EVENT = {"_data": "8265C0FFEE000000032B022C0100296E5A"}
NEXT = {"_data": "8265C0FFEE000000032B022C0101296E5A"}
MARK = {"_data": "8265C0FFEE000000032B0229296E04"}
AT = StreamPosition(EVENT, TIME, "f1", "rs0")


def test_position_round_trips() -> None:
    assert parse_position(decode(encode(AT.values())), "rs0") == AT


def test_binary_part_of_token_round_trips() -> None:
    token = {**EVENT, "_typeBits": b"\x82\x40\x01"}
    at = replace(AT, token=token)
    assert parse_position(decode(encode(at.values())), "rs0") == at


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cluster": "other"}, "belongs to the cluster other, but this is rs0"),
        ({"token": "{"}, "cannot be read"),
        ({"token": "[]"}, "the token is not an object"),
        ({"cluster.time": "5"}, "cannot be read"),
        ({"cluster.time": "5:1"}, r"damaged: its resume token has the cluster time 1707147246:3"),
    ],
)
def test_foreign_or_damaged_position_is_rejected(change: dict[str, str], message: str) -> None:
    with pytest.raises(OffsetStoreError, match=message):
        parse_position(AT.values() | change, "rs0")


def test_offsets_of_other_program_are_rejected() -> None:
    with pytest.raises(OffsetStoreError, match=r"has no `token`, `cluster\.time`"):
        parse_position({"CommitLog-7-1.log": "5"}, "rs0")


def test_stream_opens_after_its_token() -> None:
    assert opening(AT, "f1") == Opening(start_after=EVENT)


def test_changed_filters_open_stream_by_time() -> None:
    found = opening(AT, "f2")
    assert found == Opening(from_time=TIME, sent=EVENT)
    assert found.sent is not None
    events = ChangeEvents([bson.encode({"_id": token}) for token in (MARK, EVENT, NEXT)])
    assert list(events.after(found.sent["_data"])) == [events[2]]


def test_high_water_mark_token_passes_every_filter() -> None:
    mark = StreamPosition(MARK, TIME, "f1", "rs0")
    assert opening(mark, "f2") == Opening(start_after=MARK)


@pytest.mark.parametrize(
    ("last", "failure", "again"),
    [
        (Opening(), Failure.RESUMABLE, Opening(start_after=EVENT)),
        (Opening(is_split=True), Failure.OTHER, Opening(start_after=EVENT, is_split=True)),
        (Opening(), Failure.TOO_LARGE, Opening(start_after=EVENT, is_split=True)),
        (Opening(is_split=True), Failure.TOO_LARGE, None),
        (Opening(start_after=EVENT), Failure.FILTERED_TOKEN, Opening(from_time=TIME, sent=EVENT)),
        (Opening(from_time=TIME, sent=EVENT), Failure.FILTERED_TOKEN, None),
        (Opening(start_after=EVENT), Failure.HISTORY_LOST, None),
        (Opening(), Failure.AUTHENTICATION, None),
        (Opening(), Failure.INVALID_TOKEN, None),
    ],
)
def test_reopening_depends_on_the_failure(
    last: Opening, failure: Failure, again: Opening | None
) -> None:
    assert reopening(last, AT, failure) == again


def test_stream_without_token_reopens_unchanged() -> None:
    first, at = Opening(from_time=TIME), StreamPosition({}, TIME, "f1", "rs0")
    assert reopening(first, at, Failure.RESUMABLE) == first
    assert reopening(first, at, Failure.TOO_LARGE) == Opening(from_time=TIME, is_split=True)
    assert reopening(first, at, Failure.FILTERED_TOKEN) is None
