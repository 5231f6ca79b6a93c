"""A proxy in front of a Kafka broker that loses answers, as a network does at the worst moment, and
rejects requests, as a broker does that does not have a new partition yet."""

import socket
import struct
from dataclasses import dataclass

from tests.support.servers.frame_proxy import FrameProxy, exactly

END_TXN = 26
"""The request that commits or aborts a transaction (Kafka's protocol, `ApiKeys`)."""

_PRODUCE = 0
_FLEXIBLE = 9
"""The first version of produce requests with compact fields."""
_NOT_LEADER_OR_FOLLOWER = 6

_LENGTH = struct.Struct(">i")
_REQUEST = struct.Struct(">hhi")
_ANSWER = struct.Struct(">i")


class KafkaProxy(FrameProxy):
    """`with KafkaProxy(port, broker_port) as proxy:` forwards what comes to `port` on loopback.

    While `loses` is a key of requests, their answers do not come back: the broker has done what was
    asked, and the connection is closed. `lost` counts them.

    While `rejects_first`, the first produce request for each partition is not forwarded. It is
    rejected as soon as the broker has accepted a later one (KAFKA-15591).
    """

    def __init__(self, port: int, broker_port: int) -> None:
        super().__init__(("127.0.0.1", broker_port), port)
        self.loses: int | None = None
        self.lost = 0
        self.rejects_first = False
        self.rejected: list[tuple[str, int]] = []
        self._rejections: list[bytes] = []

    def _forward(self, client: socket.socket, server: socket.socket, sent: dict[int, int]) -> None:
        """`sent` has the key of each request."""
        while (frame := _frame(client)) is not None:
            key, _, number = _REQUEST.unpack_from(frame)
            if key == _PRODUCE and self.rejects_first and self._reject(_Produce.parse(frame)):
                continue
            sent[number] = key
            server.sendall(_LENGTH.pack(len(frame)) + frame)

    def _answer(self, client: socket.socket, server: socket.socket, sent: dict[int, int]) -> None:
        while (frame := _frame(server)) is not None:
            (number,) = _ANSWER.unpack_from(frame)
            key = sent.pop(number, None)
            if key == _PRODUCE:
                self._send_rejections(client)
            if key == self.loses is not None:
                with self._lock:
                    self.lost += 1
                return
            client.sendall(_LENGTH.pack(len(frame)) + frame)

    def _reject(self, request: "_Produce") -> bool:
        place = request.topic, request.partition
        with self._lock:
            if place in self.rejected:
                return False
            self.rejected.append(place)
            self._rejections.append(request.rejection(_NOT_LEADER_OR_FOLLOWER))
        return True

    def _send_rejections(self, client: socket.socket) -> None:
        with self._lock:
            rejections, self._rejections = self._rejections, []
        for answer in rejections:
            client.sendall(_LENGTH.pack(len(answer)) + answer)


@dataclass(frozen=True, slots=True)
class _Produce:
    """A produce request for one partition, as librdkafka sends it."""

    version: int
    number: int
    topic: str
    partition: int

    @classmethod
    def parse(cls, frame: bytes) -> "_Produce":
        _, version, number = _REQUEST.unpack_from(frame)
        fields = _Fields(frame, _REQUEST.size, is_compact=version >= _FLEXIBLE)
        fields.at += 2 + max(0, struct.unpack_from(">h", frame, fields.at)[0])
        fields.at += fields.is_compact  # no tagged fields
        fields.text()
        fields.at += 6
        fields.count()
        topic = fields.text()
        fields.count()
        (partition,) = struct.unpack_from(">i", frame, fields.at)
        return cls(version, number, topic, partition)

    def rejection(self, error: int) -> bytes:
        """The response, in the format of `ProduceResponse.json` of Kafka."""
        is_compact, name = self.version >= _FLEXIBLE, self.topic.encode()
        one = b"\x02" if is_compact else _LENGTH.pack(1)
        end = b"\0" if is_compact else b""
        size = bytes([len(name) + 1]) if is_compact else struct.pack(">h", len(name))
        place = struct.pack(">ihqqq", self.partition, error, -1, -1, -1)
        errors = b"\x01\0" if is_compact else struct.pack(">ih", 0, -1) * (self.version >= 8)
        body = one + size + name + one + place + errors + end + end + _LENGTH.pack(0) + end
        return _ANSWER.pack(self.number) + end + body


@dataclass
class _Fields:
    """Reads a request from `at` on."""

    frame: bytes
    at: int
    is_compact: bool

    def text(self) -> str:
        size = self.count() if self.is_compact else self._number(">h")
        text = self.frame[self.at : self.at + max(0, size)].decode()
        self.at += max(0, size)
        return text

    def count(self) -> int:
        """Of an array, or of the bytes of a compact text; -1 where there is none."""
        return self._number("B") - 1 if self.is_compact else self._number(">i")

    def _number(self, layout: str) -> int:
        (number,) = struct.unpack_from(layout, self.frame, self.at)
        self.at += struct.calcsize(layout)
        return int(number)


def _frame(source: socket.socket) -> bytes | None:
    header = exactly(source, _LENGTH.size)
    return None if header is None else exactly(source, _LENGTH.unpack(header)[0])
