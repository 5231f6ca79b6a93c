"""Lines of messages that the agent makes itself."""

import base64
import json

import pytest

from mongo_agent.change_stream.position import StreamPosition
from mongo_agent.documents.cluster_time import ClusterTime
from mongo_agent.offsets import StreamOffset
from mongo_agent.pipeline.batches import OwnMessages
from mongo_agent.snapshot.progress import SnapshotProgress

POSITION = StreamOffset(StreamPosition({}, ClusterTime(1, 1), "f", "rs0"), None, SnapshotProgress())
AVRO = b"\0\0\0\0\x0a\x02p"
"""Behind the id 10, which holds a byte that ends lines."""


@pytest.mark.parametrize(
    ("part", "shown"),
    [(b'{"serverName":"p"}', {"serverName": "p"}), (AVRO, base64.b64encode(AVRO).decode())],
)
def test_each_message_is_a_line(part: bytes, shown: object) -> None:
    message = ("hb", part, part, [("h", b"x")], 0)
    lines = OwnMessages((message, message), POSITION).ndjson(0, 2)
    expected = {"topic": "hb", "key": shown, "value": shown, "headers": {"h": "x"}}
    assert lines.endswith(b"\n")
    assert [json.loads(line) for line in lines.splitlines()] == [expected] * 2


def test_no_value_is_null() -> None:
    line = OwnMessages((("hb", b"{}", None, [], 0),), POSITION).ndjson(0, 1)
    assert json.loads(line)["value"] is None
