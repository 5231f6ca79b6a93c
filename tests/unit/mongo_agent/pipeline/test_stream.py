"""Positions after the events of a stream."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bson
import pytest

from mongo_agent.change_stream.position import StreamPosition
from mongo_agent.change_stream.reader import StreamBatch
from mongo_agent.dead_letters import DeadLetterWriter, Quarantine
from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import ChangeEvents
from mongo_agent.metrics import MongoMetrics
from mongo_agent.offsets import StreamOffset
from mongo_agent.pipeline.stream import Stream
from mongo_agent.signals.signal import signals_among
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.snapshotter import Snapshotter
from sidecar.metrics import DeliveryMetrics
from tests.support.mongodb.given_streams import ENCODER, GivenReader, idle_snapshotter

START = StreamOffset(StreamPosition({}, ClusterTime(1, 1), "f", "rs0"), None, SnapshotProgress())


def inserted(number: int, collection: str, document: Any) -> bytes:
    return bson.encode(
        {
            "_id": {"_data": f"82{number:08X}00000001"},
            "operationType": "insert",
            "clusterTime": bson.Timestamp(number, 1),
            "ns": {"db": "shop", "coll": collection},
            "documentKey": {"_id": number},
            "fullDocument": {"_id": number, **document},
        }
    )


@pytest.fixture
def snapshotter() -> Iterator[Snapshotter]:
    with idle_snapshotter() as made:
        yield made


def test_position_after_signal_event_contains_signal(
    snapshotter: Snapshotter, tmp_path: Path
) -> None:
    """Otherwise a crash after the event would lose the signal. After a crash before the event, the
    agent reads the event again and recognizes the signal."""
    data = {"data-collections": ["shop.a"]}
    events = ChangeEvents(
        [inserted(5, "a", {}), inserted(6, "signals", {"type": "execute-snapshot", "data": data})]
    )
    position = StreamPosition({"_data": "82000000060000000129"}, ClusterTime(6, 1), "f", "rs0")
    read = StreamBatch(
        events, ENCODER.encode(events), position, None, ClusterTime(5, 1), ClusterTime(6, 1)
    )
    metrics = MongoMetrics(DeliveryMetrics("mongo-agent", "1"))
    dead_letters = DeadLetterWriter(Quarantine(tmp_path, 1 << 20, "1"), metrics)
    placed: list[Any] = []
    stream = Stream(
        "",
        GivenReader(read),
        snapshotter,
        START,
        add=lambda name, batch, before: placed.append(batch),
        dead_letters=dead_letters,
        signal_collection="shop.signals",
        metrics=metrics,
    )
    assert stream.tick()
    (batch,) = placed
    for messages in (1, 2):
        copies = batch.position_after(messages).snapshot
        assert [each.names for each in copies.requests] == [("shop.a",)]
    (signal,) = signals_among(read.events, "shop.signals")
    assert snapshotter.apply(signal).message == "The agent has already processed this signal."
