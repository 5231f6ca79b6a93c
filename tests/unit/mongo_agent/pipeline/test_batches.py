"""Lines of the agent's own messages, and positions of a batch."""

import base64
import json

import pytest

from mongo_agent.change_stream.position import StreamPosition
from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import ChangeEvents
from mongo_agent.offsets import StreamOffset
from mongo_agent.pipeline.batches import OwnMessages, PlacedBatch
from mongo_agent.snapshot.progress import SnapshotProgress
from tests.support.mongodb.bson_documents import event
from tests.support.mongodb.encodings import encoder

POSITION = StreamOffset(StreamPosition({}, ClusterTime(1, 1), "f", "rs0"), None, SnapshotProgress())
AVRO = b"\0\0\0\0\x0a\x02p"
"""A value after the schema id 10, whose byte is a line feed."""


@pytest.mark.parametrize(
    ("part", "shown"),
    [(b'{"serverName":"p"}', {"serverName": "p"}), (AVRO, base64.b64encode(AVRO).decode())],
)
def test_own_messages_are_json_lines(part: bytes, shown: object) -> None:
    message = ("hb", part, part, [("h", b"x")], 0)
    lines = OwnMessages((message, message), POSITION).ndjson(0, 2)
    expected = {"topic": "hb", "key": shown, "value": shown, "headers": {"h": "x"}}
    assert lines.endswith(b"\n")
    assert [json.loads(line) for line in lines.splitlines()] == [expected] * 2


def test_missing_value_of_own_message_is_null() -> None:
    line = OwnMessages((("hb", b"{}", None, [], 0),), POSITION).ndjson(0, 1)
    assert json.loads(line)["value"] is None


def test_damaged_event_keeps_previous_position() -> None:
    damaged = event("insert").replace(b"\x03_id\0", b"\x42_id\0")
    events = ChangeEvents([damaged, event("insert"), damaged, damaged, event("insert")])
    batch = encoder().encode(events)
    assert [each.is_malformed for each in batch.failures] == [True] * 3
    behind = StreamOffset(
        StreamPosition({"_data": "end"}, ClusterTime(9, 9), "f", "rs0"), None, SnapshotProgress()
    )
    placed = PlacedBatch(batch, POSITION, behind, events)
    after_each = [placed.position_after(done).stream.time for done in range(3)]
    assert after_each == [ClusterTime(1, 1), ClusterTime(1674749174, 2), ClusterTime(9, 9)]
