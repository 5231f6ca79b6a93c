"""Ends transactions that Kafka left open: what `kafka-transactions.sh abort` does.

A coordinator that finds a partition without a leader takes it for deleted and drops the end of the
transaction there. A single broker that is killed during a commit does so to itself: after its start
it is fenced until it is registered anew. The coordinator then regards the transaction as complete,
and nothing ends it in the partition.
"""

import re
import socket
import struct
from collections.abc import Iterator

from tests.support.servers.frame_proxy import exactly
from tests.support.servers.processes import DEADLINE_S

_DESCRIBE_PRODUCERS, _WRITE_MARKERS = 61, 27
_VERSIONS = {_DESCRIBE_PRODUCERS: 0, _WRITE_MARKERS: 1}
_DROPPED = re.compile(
    r"Couldn't find leader endpoint for partitions Set\((?P<partitions>[^)]*)\) while trying to "
    r"send transaction markers"
)
_NO_TAGS = b"\0"


def dropped_markers(log: str) -> list[tuple[str, int]]:
    """Topics and partitions whose end of a transaction the broker dropped, by its log."""
    found = _DROPPED.finditer(log)
    named = {name.strip() for each in found for name in each["partitions"].split(",")}
    places = (name.rpartition("-") for name in sorted(named))
    return [(topic, int(partition)) for topic, _, partition in places]


def abort_open_transactions(port: int, places: list[tuple[str, int]]) -> None:
    """Aborts every open transaction of these partitions, at the broker on this port."""
    with socket.create_connection(("127.0.0.1", port), DEADLINE_S) as connection:
        for topic, partition in places:
            for producer in list(_open_transactions(connection, topic, partition)):
                _abort(connection, topic, partition, *producer)


def _open_transactions(
    connection: socket.socket, topic: str, partition: int
) -> Iterator[tuple[int, int, int]]:
    """Producer id, its epoch and that of its coordinator."""
    answer = _Answer(_ask(connection, _DESCRIBE_PRODUCERS, _topics(topic, partition)))
    answer.take(">i")  # throttling
    for _ in range(answer.length()):
        answer.text()
        for _ in range(answer.length()):
            answer.take(">ih")
            answer.text()
            for _ in range(answer.length()):
                producer, epoch, _, _, coordinator, start = answer.take(">qiiqiq")
                answer.tags()
                if start >= 0:
                    yield producer, epoch, max(0, coordinator)
            answer.tags()
        answer.tags()


def _abort(
    connection: socket.socket, topic: str, partition: int, producer: int, epoch: int, by: int
) -> None:
    marker = struct.pack(">qh?", producer, epoch, False) + _topics(topic, partition)[:-1]
    body = b"\x02" + marker + struct.pack(">i", by) + _NO_TAGS + _NO_TAGS
    answer = _Answer(_ask(connection, _WRITE_MARKERS, body))
    answer.length()
    answer.take(">q")
    answer.length()
    answer.text()
    answer.length()
    _, error = answer.take(">ih")
    if error:
        raise RuntimeError(f"Kafka did not abort {topic}-{partition}: error {error}.")


def _topics(topic: str, partition: int) -> bytes:
    """One topic with one partition, and the end of the request."""
    name = topic.encode()
    one = bytes([len(name) + 1]) + name + b"\x02" + struct.pack(">i", partition) + _NO_TAGS
    return b"\x02" + one + _NO_TAGS


def _ask(connection: socket.socket, key: int, body: bytes) -> bytes:
    """The answer without its header."""
    request = struct.pack(">hhih", key, _VERSIONS[key], 1, -1) + _NO_TAGS + body
    connection.sendall(struct.pack(">i", len(request)) + request)
    (size,) = struct.unpack(">i", _received(connection, 4))
    return _received(connection, size)[5:]


def _received(connection: socket.socket, size: int) -> bytes:
    received = exactly(connection, size)
    if received is None:
        raise ConnectionError("Kafka closed the connection.")
    return received


class _Answer:
    """Fields of an answer in the flexible encoding."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def take(self, pattern: str) -> tuple[int, ...]:
        values = struct.unpack_from(pattern, self._content, self._at)
        self._at += struct.calcsize(pattern)
        return values

    def length(self) -> int:
        """Of an array or a text; 0 also for null."""
        return max(0, self._number() - 1)

    def text(self) -> None:
        size = self.length()
        self._at += size

    def tags(self) -> None:
        for _ in range(self._number()):
            self._number()
            size = self._number()
            self._at += size

    def _number(self) -> int:
        value = shift = 0
        while True:
            part = self._content[self._at]
            self._at += 1
            value |= (part & 0x7F) << shift
            shift += 7
            if part < 0x80:
                return value
