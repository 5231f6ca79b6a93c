"""A TCP proxy before one MongoDB server that alters replies, as a hostile server or network does.

    with MongoReplicaSet() as servers, MongoProxy(servers.members[0]) as proxy:
        agent = …(proxy.connection_string)
        proxy.alter(cut_in_the_middle)

It works before real servers, too: it parses only the headers of messages and the names of commands.
With `compressors` it offers compression to the client, and compresses every reply.
"""

import socket
import struct
import threading
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Self

import bson

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


class MongoProxy:
    """Passes everything until `alter`. All threads have ended when the block ends."""

    def __init__(self, address: str, *, compressor: Compressor | None = None) -> None:
        """`address` is that of the server."""
        host, _, port = address.rpartition(":")
        self._upstream = (host, int(port))
        self._compressor = compressor
        self._lock = threading.Lock()
        self._fault: Fault | None = None
        self._commands: Collection[str] = ()
        self._times: int | None = None
        self._when: Callable[[bytes], bool] = lambda message: True
        self.hits = 0
        """Replies altered since `alter`."""
        self.compressed_requests = 0
        self._sockets: set[socket.socket] = set()
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))

    @property
    def connection_string(self) -> str:
        """A direct connection: the driver discovers no server beside the proxy."""
        port = self._listener.getsockname()[1]
        offered = f"&compressors={self._compressor.name}" if self._compressor else ""
        return f"mongodb://127.0.0.1:{port}/?directConnection=true{offered}"

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

    def drop_connections(self) -> None:
        with self._lock:
            sockets = list(self._sockets)
        for each in sockets:
            _shut(each)

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *exception: object) -> None:
        self._closing.set()
        _shut(self._listener)
        self._threads[0].join()
        self.drop_connections()
        for thread in self._threads:
            thread.join()
        for each in (*self._sockets, self._listener):
            each.close()

    def _start(self, run: Callable[..., None], *given: Any) -> None:
        thread = threading.Thread(target=run, args=given, name="mongo-proxy", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._upstream)
            except OSError:
                client.close()
                continue
            with self._lock:
                self._sockets |= {client, server}
            commands: dict[int, str] = {}
            self._start(self._forward, client, server, commands)
            self._start(self._answer, client, server, commands)

    def _forward(self, client: socket.socket, server: socket.socket, names: dict[int, str]) -> None:
        try:
            while (message := _read(client)) is not None:
                if self._compressor is not None:
                    self.compressed_requests += HEADER.unpack_from(message)[3] == OP_COMPRESSED
                    message = self._compressor.unpacked(message)
                names[HEADER.unpack_from(message)[1]] = _command_of(message)
                server.sendall(message)
        except OSError:
            pass
        finally:
            self._end(client, server)

    def _answer(self, client: socket.socket, server: socket.socket, names: dict[int, str]) -> None:
        try:
            while (message := _read(server)) is not None:
                sent = self._sent(message, names.pop(HEADER.unpack_from(message)[2], ""))
                client.sendall(sent.data)
                while sent.is_endless:
                    self._closing.wait(_BETWEEN_BYTES_S)
                    client.sendall(b"\0")
                if sent.is_cut:
                    return
        except OSError:
            pass
        finally:
            self._end(client, server)

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

    def _end(self, *sockets: socket.socket) -> None:
        # The other thread may still read them; `__exit__` closes them.
        for each in sockets:
            _shut(each)


def _shut(each: socket.socket) -> None:
    # Closing alone would not wake a thread that reads.
    try:
        each.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def _command_of(message: bytes) -> str:
    opcode = HEADER.unpack_from(message)[3]
    if opcode != OP_MSG:
        return ""
    document = document_of(message)
    return document[5 : document.index(0, 5)].decode()


def _read(source: socket.socket) -> bytes | None:
    header = _exactly(source, HEADER.size)
    if header is None:
        return None
    rest = _exactly(source, HEADER.unpack(header)[0] - HEADER.size)
    return None if rest is None else header + rest


def _exactly(source: socket.socket, size: int) -> bytes | None:
    data = bytearray(size)
    view, done = memoryview(data), 0
    while done < size:
        count = source.recv_into(view[done:])
        if not count:
            return None
        done += count
    return bytes(data)
