"""Proof that the comparison detects differences."""

import json
from typing import Any

import pytest

from tests.oracle.debezium_mongodb.comparison import compared
from tests.oracle.debezium_mongodb.engines import PeerRecord

SOURCE: dict[str, Any] = {"version": "1", "ts_ms": 1, "ts_us": 1000, "snapshot": "false", "ord": 1}
VALUE: dict[str, Any] = {
    "before": None,
    "after": '{"_id": 1,"n": NaN}',
    "source": SOURCE,
    "op": "c",
    "ts_ms": 5,
    "transaction": None,
}


def record(topic: str = "a", key: bytes = b"{}", **changes: Any) -> PeerRecord:
    return PeerRecord(topic, key, json.dumps({**VALUE, **changes}).encode())


def test_allowed_differences_are_ignored() -> None:
    ours = record(
        after='{"_id": 1,"n": {"$numberDouble": "NaN"}}',
        source={**SOURCE, "version": "2"},
        ts_ms=6,
        ts_us=6000,
    )
    assert compared(ours) == compared(record())


@pytest.mark.parametrize(
    "other",
    [
        record(topic="b"),
        record(key=b'{"id":"1"}'),
        record(op="u"),
        record(before="{}"),
        record(after='{"_id": 1,"n": 1.0}'),
        record(after='{"n": NaN,"_id": 1}'),
        record(source={**SOURCE, "ts_ms": 2}),
        record(source={**SOURCE, "ord": 2}),
        record(transaction={"id": "1"}),
        record(more=None),
        PeerRecord("a", b"{}", None),
    ],
)
def test_other_differences_are_detected(other: PeerRecord) -> None:
    assert compared(other) != compared(record())


def test_number_like_text_is_compared_as_text() -> None:
    ours = record(after='{"_id": "{\\"$numberDouble\\": \\"NaN\\"}"}')
    assert compared(ours) != compared(record(after='{"_id": "NaN"}'))
