"""A proxy in front of a Kafka broker that loses answers, as a network does at the worst moment."""

import socket
import struct
import threading
from contextlib import suppress
from typing import Self

END_TXN = 26
"""The request that commits or aborts a transaction (Kafka's protocol, `ApiKeys`)."""

_LENGTH = struct.Struct(">i")
_REQUEST = struct.Struct(">hhi")
_ANSWER = struct.Struct(">i")


class KafkaProxy:
    """`with KafkaProxy(port, broker_port) as proxy:` forwards what comes to `port` on loopback.

    While `loses` is a key of requests, their answers do not come back: the broker has done what was
    asked, and the connection is closed. `lost` counts them.
    """

    def __init__(self, port: int, broker_port: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", port))
        self._broker_port = broker_port
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, name="proxy")]
        self._lock = threading.Lock()
        self.loses: int | None = None
        self.lost = 0

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *exception: object) -> None:
        _close(self._listener)
        self._threads[0].join()
        for each in self._sockets:
            _close(each)
        for thread in self._threads[1:]:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                broker = socket.create_connection(("127.0.0.1", self._broker_port))
            except OSError:
                client.close()
                continue
            self._sockets += [client, broker]
            awaited: dict[int, int] = {}
            for source, target, is_request in ((client, broker, True), (broker, client, False)):
                thread = threading.Thread(
                    target=self._forward, args=(source, target, awaited, is_request), name="proxied"
                )
                self._threads.append(thread)
                thread.start()

    def _forward(
        self,
        source: socket.socket,
        target: socket.socket,
        awaited: dict[int, int],
        is_request: bool,
    ) -> None:
        """`awaited` has the key of each request by its number, of one connection."""
        try:
            while (frame := _frame(source)) is not None:
                if is_request:
                    key, _, number = _REQUEST.unpack_from(frame)
                    awaited[number] = key
                else:
                    (number,) = _ANSWER.unpack_from(frame)
                    if awaited.pop(number, None) == self.loses is not None:
                        with self._lock:
                            self.lost += 1
                        return
                target.sendall(_LENGTH.pack(len(frame)) + frame)
        except OSError:
            # One of the two is gone, and the other one goes too.
            return
        finally:
            _close(source)
            _close(target)


def _frame(source: socket.socket) -> bytes | None:
    header = _exactly(source, _LENGTH.size)
    return None if header is None else _exactly(source, _LENGTH.unpack(header)[0])


def _exactly(source: socket.socket, size: int) -> bytes | None:
    parts: list[bytes] = []
    while size:
        part = source.recv(size)
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _close(each: socket.socket) -> None:
    """Also wakes whoever waits for it."""
    # One that was closed already has nobody who waits.
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
