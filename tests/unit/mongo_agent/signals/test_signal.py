"""Documents of the signal collection as signals."""

from typing import Any

import bson
import pytest
from bson import ObjectId

from mongo_agent.signals.signal import signals_among, source_signal


def event(document: Any, operation: str = "insert", collection: str = "signals") -> bytes:
    return bson.encode(
        {
            "_id": {"_data": "8265"},
            "operationType": operation,
            "ns": {"db": "shop", "coll": collection},
            "fullDocument": document,
        }
    )


def test_inserts_into_signal_collection_are_signals() -> None:
    data = {"type": "incremental", "data-collections": ["shop.a"]}
    document = {"_id": ObjectId("596e275826f08b2730779e1f"), "type": "stop-snapshot", "data": data}
    signal = source_signal(event(document), "shop.signals")
    assert signal is not None
    assert signal.id == "596e275826f08b2730779e1f"
    assert (signal.type, signal.data, signal.channel) == ("stop-snapshot", data, "source")
    assert signal.occurrence == "8265"


def test_signal_data_may_be_json_text() -> None:
    document = {"_id": 1, "type": "log", "data": '{"message": "hello"}'}
    signal = source_signal(event(document), "shop.signals")
    assert signal is not None
    assert signal.data == {"message": "hello"}


@pytest.mark.parametrize(
    "other",
    [
        event({"_id": 1}, "delete"),
        event({"_id": 1}, "update"),
        event({"_id": 1}, collection="signals2"),
        bson.encode(
            {"_id": {"_data": "82"}, "operationType": "dropDatabase", "ns": {"db": "shop"}}
        ),
        bson.encode({"_id": {"_data": "82"}, "operationType": "invalidate"}),
        bson.encode({}),
        b"noise",
    ],
)
def test_other_events_are_not_signals(other: bytes) -> None:
    assert source_signal(other, "shop.signals") is None


def test_signals_of_read_keep_their_order() -> None:
    read = [event({"_id": 1}), event({"_id": 2}, "delete"), event({"_id": 3})]
    assert [each.id for each in signals_among(read, "shop.signals")] == ["1", "3"]
    assert list(signals_among(read, None)) == []
