"""A change stream of prepared replies, which cause no load on the server.

This proxy runs in front of a test replica set. It forwards all commands except change stream
commands, which it answers itself. So only the reader limits the rate.
"""

import itertools
import socket
import struct
import threading
from collections.abc import Sequence
from typing import Any

import bson
from bson import Int64, Timestamp
from bson.raw_bson import RawBSONDocument

from tests.support.mongodb.server.wire import Document, decode

BATCH_EVENTS = 2000
_HEADER = struct.Struct("<iiii")
_OP_MSG = 2013
_STREAM = 4711
_AWAIT_S = 1.0


class Replay:
    """A server on a free port that runs until the process ends."""

    def __init__(self, server: tuple[str, int], namespace: str, events: Sequence[bytes]) -> None:
        """`events` are all events of the stream, in order."""
        self._server = server
        self._replies = _replies(namespace, events)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        server = socket.create_connection(self._server)
        lock = threading.Lock()
        threading.Thread(target=_forward_replies, args=(server, client, lock), daemon=True).start()
        positions = itertools.count()
        while (message := _read(client)) is not None:
            command = _command(message)
            if _opens_stream(command):
                positions = itertools.count()
            if _opens_stream(command) or command.get("getMore") == _STREAM:
                _answer(client, lock, message, self._reply(next(positions)))
            else:
                server.sendall(message)
        server.close()

    def _reply(self, position: int) -> bytes:
        """Return the replies in order. The final reply contains no events and repeats."""
        if position >= len(self._replies) - 1:
            threading.Event().wait(_AWAIT_S)
            return self._replies[-1]
        return self._replies[position]


def _replies(namespace: str, events: Sequence[bytes]) -> list[bytes]:
    batches = [events[at : at + BATCH_EVENTS] for at in range(0, len(events), BATCH_EVENTS)]
    times = [RawBSONDocument(batch[-1]) for batch in batches]
    replies = []
    for number, (batch, last) in enumerate(zip(batches, times, strict=True)):
        name = "nextBatch" if number else "firstBatch"
        replies.append(_cursor_reply(namespace, name, batch, last["_id"], last["clusterTime"]))
    end = times[-1]
    replies.append(_cursor_reply(namespace, "nextBatch", (), end["_id"], end["clusterTime"]))
    return replies


def _cursor_reply(
    namespace: str, name: str, events: Sequence[bytes], token: Any, time: Timestamp
) -> bytes:
    cursor: Document = {
        name: [RawBSONDocument(event) for event in events],
        "postBatchResumeToken": token,
        "id": Int64(_STREAM),
        "ns": namespace,
    }
    return bson.encode({"cursor": cursor, "ok": 1.0, "operationTime": time})


def _opens_stream(command: Document) -> bool:
    pipeline: list[Document] = command.get("pipeline") or []
    return "aggregate" in command and bool(pipeline) and "$changeStream" in pipeline[0]


def _command(message: bytes) -> Document:
    """Decode the command of a message with one section; empty for any other message."""
    opcode = _HEADER.unpack_from(message)[3]
    if opcode != _OP_MSG or message[_HEADER.size + 4] != 0:
        return {}
    return decode(message[_HEADER.size + 5 :])


def _answer(client: socket.socket, lock: threading.Lock, message: bytes, body: bytes) -> None:
    request_id = _HEADER.unpack_from(message)[1]
    payload = struct.pack("<IB", 0, 0) + body
    with lock:
        client.sendall(_HEADER.pack(_HEADER.size + len(payload), 0, request_id, _OP_MSG) + payload)


def _forward_replies(server: socket.socket, client: socket.socket, lock: threading.Lock) -> None:
    while (message := _read(server)) is not None:
        with lock:
            client.sendall(message)


def _read(connection: socket.socket) -> bytes | None:
    """Read one message, or None if the connection is closed."""
    try:
        header = _exactly(connection, _HEADER.size)
        rest = _exactly(connection, _HEADER.unpack(header)[0] - _HEADER.size)
    except (OSError, EOFError):
        return None
    return header + rest


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)
