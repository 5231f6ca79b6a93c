"""Resume tokens and error classes."""

import itertools

import bson
import pytest
from pymongo.errors import OperationFailure

from mongo_agent.change_stream.tokens import TokenParts, read_token
from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import ChangeEvents
from mongo_agent.server.errors import LOST_LABEL, RESUMABLE_LABELS, Failure, classify_failure

TIME = "65C0FFEE00000003"
AT = ClusterTime(0x65C0FFEE, 3)


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (f"82{TIME}2B0229296E04", TokenParts(AT, is_high_water_mark=True)),
        (f"82{TIME}2B0429296E1404", TokenParts(AT, is_high_water_mark=True)),
        (f"82{TIME}2B022C0100296E5A", TokenParts(AT, is_high_water_mark=False)),
        (f"82{TIME.lower()}2b042c0100296e5a", TokenParts(AT, is_high_water_mark=False)),
        (f"82{TIME}", TokenParts(AT, is_high_water_mark=False)),
    ],
)
def test_token_contains_its_time(data: str, parts: TokenParts) -> None:
    assert read_token({"_data": data}) == parts


@pytest.mark.parametrize("data", ["", "82", "0165A0", f"81{TIME}", "82" + "x" * 16, None, b"\x82"])
def test_unknown_token_forms_are_rejected(data: object) -> None:
    with pytest.raises(ValueError, match="the resume token"):
        read_token({"_data": data})


def test_events_after_a_token_are_selected() -> None:
    mark = {"_data": f"82{TIME}2B0229296E04"}
    event = {"_data": f"82{TIME}2B022C0100296E5A"}
    later = {"_data": "8265C0FFEE000000042B0229296E04".lower()}
    for earlier, behind in itertools.combinations((mark, event, later), 2):
        events = ChangeEvents([bson.encode({"_id": token}) for token in (earlier, behind)])
        assert list(events.after(earlier["_data"])) == [events[1]]
        assert list(events.after(behind["_data"])) == []


@pytest.mark.parametrize(
    ("code", "labels", "failure"),
    [
        (43, (), Failure.RESUMABLE),
        (10107, (), Failure.RESUMABLE),
        (8, RESUMABLE_LABELS[:1], Failure.RESUMABLE),
        (462, RESUMABLE_LABELS[1:], Failure.RESUMABLE),
        (8, (LOST_LABEL,), Failure.HISTORY_LOST),
        (18, (), Failure.AUTHENTICATION),
        (13, (), Failure.AUTHORISATION),
        (286, (), Failure.HISTORY_LOST),
        (286, RESUMABLE_LABELS, Failure.HISTORY_LOST),
        (280, (LOST_LABEL,), Failure.FILTERED_TOKEN),
        (260, (), Failure.INVALID_TOKEN),
        (10334, (), Failure.TOO_LARGE),
        (146, (), Failure.MEMORY_LIMIT),
        (292, (), Failure.MEMORY_LIMIT),
        (40573, (), Failure.NOT_SUPPORTED),
        (8, (), Failure.OTHER),
    ],
)
def test_server_error_has_one_failure_class(
    code: int, labels: tuple[str, ...], failure: Failure
) -> None:
    error = OperationFailure("wrong", code, {"errorLabels": list(labels)})
    assert classify_failure(error) is failure
