"""A proxy in front of a Kafka broker that loses answers, as a network does at the worst moment."""

import socket
import struct

from tests.support.servers.frame_proxy import FrameProxy, exactly

END_TXN = 26
"""The request that commits or aborts a transaction (Kafka's protocol, `ApiKeys`)."""

_LENGTH = struct.Struct(">i")
_REQUEST = struct.Struct(">hhi")
_ANSWER = struct.Struct(">i")


class KafkaProxy(FrameProxy):
    """`with KafkaProxy(port, broker_port) as proxy:` forwards what comes to `port` on loopback.

    While `loses` is a key of requests, their answers do not come back: the broker has done what was
    asked, and the connection is closed. `lost` counts them.
    """

    def __init__(self, port: int, broker_port: int) -> None:
        super().__init__(("127.0.0.1", broker_port), port)
        self.loses: int | None = None
        self.lost = 0

    def _forward(self, client: socket.socket, server: socket.socket, sent: dict[int, int]) -> None:
        """`sent` has the key of each request."""
        while (frame := _frame(client)) is not None:
            key, _, number = _REQUEST.unpack_from(frame)
            sent[number] = key
            server.sendall(_LENGTH.pack(len(frame)) + frame)

    def _answer(self, client: socket.socket, server: socket.socket, sent: dict[int, int]) -> None:
        while (frame := _frame(server)) is not None:
            (number,) = _ANSWER.unpack_from(frame)
            if sent.pop(number, None) == self.loses is not None:
                with self._lock:
                    self.lost += 1
                return
            client.sendall(_LENGTH.pack(len(frame)) + frame)


def _frame(source: socket.socket) -> bytes | None:
    header = exactly(source, _LENGTH.size)
    return None if header is None else exactly(source, _LENGTH.unpack(header)[0])
