"""A TCP proxy before one MongoDB server that alters replies, as a hostile server or network does.

    with MongoReplicaSet() as servers, MongoProxy(servers.members[0]) as proxy:
        agent = …(proxy.connection_string)
        proxy.alter(cut_in_the_middle)

It works before real servers, too: it parses only the headers of messages and the names of commands.
With `compressors` it offers compression to the client, and compresses every reply.
"""

import socket
import struct
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass

import bson

from tests.support.servers.frame_proxy import FrameProxy, exactly

HEADER = struct.Struct("<iiii")
COMPRESSED = struct.Struct("<iiB")
OP_COMPRESSED, OP_MSG = 2012, 2013
_BODY = HEADER.size + 5
_BETWEEN_BYTES_S = 0.01
_HELLO = ("hello", "isMaster", "ismaster")


@dataclass(frozen=True)
class Sent:
    """What the client gets in place of a reply; with `is_cut` the connection then ends. With
    `is_endless` more bytes follow until the client closes it."""

    data: bytes
    is_cut: bool = False
    is_endless: bool = False


Fault = Callable[[bytes], Sent]
"""Gets a whole message: header, flags, kind of section, document."""


def message_of(original: bytes, document: bytes, *, opcode: int = OP_MSG) -> bytes:
    """The message with another document, and the length that it has."""
    _, request_id, response_to, _ = HEADER.unpack_from(original)
    flags = original[HEADER.size : _BODY]
    length = _BODY + len(document)
    return HEADER.pack(length, request_id, response_to, opcode) + flags + document


def document_of(message: bytes) -> bytes:
    """The document of a message."""
    return message[_BODY:]


def has_events(message: bytes) -> bool:
    """Whether a reply of a cursor has documents."""
    cursor = bson.decode(document_of(message)).get("cursor", {})
    return bool(cursor.get("nextBatch") or cursor.get("firstBatch"))


def compressed(message: bytes, number: int, content: bytes, size: int | None = None) -> bytes:
    """An OP_COMPRESSED message with this compressor and content. `size`: the one that it claims."""
    _, request_id, response_to, opcode = HEADER.unpack_from(message)
    size = len(message) - HEADER.size if size is None else size
    payload = COMPRESSED.pack(opcode, size, number) + content
    return HEADER.pack(HEADER.size + len(payload), request_id, response_to, OP_COMPRESSED) + payload


@dataclass(frozen=True)
class Compressor:
    """`number` is the id of the protocol."""

    name: str
    number: int
    pack: Callable[[bytes], bytes]
    unpack: Callable[[bytes], bytes]

    def packed(self, message: bytes) -> bytes:
        return compressed(message, self.number, self.pack(message[HEADER.size :]))

    def unpacked(self, message: bytes) -> bytes:
        _, request_id, response_to, opcode = HEADER.unpack_from(message)
        if opcode != OP_COMPRESSED:
            return message
        original, _, number = COMPRESSED.unpack_from(message, HEADER.size)
        assert number == self.number
        content = self.unpack(message[HEADER.size + COMPRESSED.size :])
        length = HEADER.size + len(content)
        return HEADER.pack(length, request_id, response_to, original) + content


ZLIB = Compressor("zlib", 2, zlib.compress, zlib.decompress)


class MongoProxy(FrameProxy):
    """Passes everything until `alter`."""

    def __init__(self, address: str, *, compressor: Compressor | None = None) -> None:
        """`address` is that of the server."""
        host, _, port = address.rpartition(":")
        super().__init__((host, int(port)))
        self._compressor = compressor
        self._fault: Fault | None = None
        self._commands: Collection[str] = ()
        self._times: int | None = None
        self._when: Callable[[bytes], bool] = lambda message: True
        self.hits = 0
        """Replies altered since `alter`."""
        self.compressed_requests = 0

    @property
    def connection_string(self) -> str:
        """A direct connection: the driver discovers no server beside the proxy."""
        offered = f"&compressors={self._compressor.name}" if self._compressor else ""
        return f"mongodb://127.0.0.1:{self.port}/?directConnection=true{offered}"

    def alter(
        self,
        fault: Fault,
        *,
        commands: Collection[str] = ("aggregate", "getMore"),
        times: int | None = None,
        when: Callable[[bytes], bool] = lambda message: True,
    ) -> None:
        """Alter the next replies to commands: so many, or until `pass_all`."""
        with self._lock:
            self._fault, self._commands, self._times, self._when = fault, commands, times, when
            self.hits = 0

    def pass_all(self) -> None:
        with self._lock:
            self._fault = None

    def _forward(self, client: socket.socket, server: socket.socket, sent: dict[int, str]) -> None:
        """`sent` has the command of each request."""
        while (message := _read(client)) is not None:
            if self._compressor is not None:
                self.compressed_requests += HEADER.unpack_from(message)[3] == OP_COMPRESSED
                message = self._compressor.unpacked(message)
            sent[HEADER.unpack_from(message)[1]] = _command_of(message)
            server.sendall(message)

    def _answer(self, client: socket.socket, server: socket.socket, sent: dict[int, str]) -> None:
        while (message := _read(server)) is not None:
            reply = self._sent(message, sent.pop(HEADER.unpack_from(message)[2], ""))
            client.sendall(reply.data)
            while reply.is_endless:
                self._closing.wait(_BETWEEN_BYTES_S)
                client.sendall(b"\0")
            if reply.is_cut:
                return

    def _sent(self, message: bytes, command: str) -> Sent:
        if self._compressor is not None and command in _HELLO:
            reply = bson.decode(document_of(message)) | {"compression": [self._compressor.name]}
            message = message_of(message, bson.encode(reply))
        with self._lock:
            fault = self._fault if command in self._commands and self._when(message) else None
            if fault is not None:
                self.hits += 1
                if self._times is not None and self.hits >= self._times:
                    self._fault = None
        if fault is not None:
            return fault(message)
        if self._compressor is not None and command not in _HELLO:
            return Sent(self._compressor.packed(message))
        return Sent(message)


def _command_of(message: bytes) -> str:
    opcode = HEADER.unpack_from(message)[3]
    if opcode != OP_MSG:
        return ""
    document = document_of(message)
    return document[5 : document.index(0, 5)].decode()


def _read(source: socket.socket) -> bytes | None:
    header = exactly(source, HEADER.size)
    if header is None:
        return None
    rest = exactly(source, HEADER.unpack(header)[0] - HEADER.size)
    return None if rest is None else header + rest
