"""Reads HTTP/1.1 requests strictly, within limits, and in linear time.

A server and a proxy that disagree about where a request ends can be made to exchange hidden
requests. So each form that RFC 9112 calls invalid or ambiguous is an error, and the connection
closes after the answer. `waitress` parses only bytes that passed these checks: some of its own
expressions take quadratic time for other bytes.
"""

import re
from typing import Any

from waitress.buffers import OverflowableBuffer
from waitress.parser import HTTPRequestParser
from waitress.utilities import (
    BadRequest,
    Error,
    RequestEntityTooLarge,
    RequestHeaderFieldsTooLarge,
    ServerNotImplemented,
)

MAX_BODY_BYTES = 65536
MAX_HEAD_BYTES = 16384
MAX_TARGET_BYTES = 4096
MAX_FIELDS = 100
_MAX_CHUNK_LINE_BYTES = 256
_END = b"\r\n"
_BARE = re.compile(rb"(?<!\r)\n|\r(?!\n|\Z)")
"""A line end of which one half is missing."""
_SPACE = re.compile(rb"(?:\r\n)*[^\S\r]")
_FIRST_LINE = re.compile(rb"[A-Z]{1,32} ([^\x00-\x20\x7f]+) HTTP/1\.[01]")
_FIELD = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([\t\x20-\x7e\x80-\xff]*)")
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,8})(?:;[\t\x20-\x7e\x80-\xff]*)?")
_LENGTH = re.compile(rb"[0-9]{1,10}")
_ONCE = frozenset((b"content-length", b"transfer-encoding", b"host"))


class TargetTooLongError(Error):
    code = 414
    reason = "URI Too Long"


class ChunkedBody:
    """A body in chunks, as `waitress` calls it. It accepts no trailers."""

    def __init__(self, buffer: OverflowableBuffer) -> None:
        self.completed = False
        self.error: Error | None = None
        self._buffer = buffer
        self._pending = bytearray()
        self._remaining = 0
        """Bytes of the present chunk that have not arrived."""
        self._is_last = self._ends_chunk = False

    def __len__(self) -> int:
        return len(self._buffer)

    def getfile(self) -> Any:
        return self._buffer.getfile()

    def getbuf(self) -> OverflowableBuffer:
        return self._buffer

    def received(self, data: bytes) -> int:
        """The number of bytes that belong to the body."""
        self._pending += data
        while self._pending and not (self.completed or self.error):
            if self._remaining:
                part = bytes(self._pending[: self._remaining])
                self._buffer.append(part)
                self._remaining -= len(part)
                self._ends_chunk = not self._remaining
                del self._pending[: len(part)]
                continue
            line, end, _ = bytes(self._pending[:_MAX_CHUNK_LINE_BYTES]).partition(_END)
            if not end:
                if len(line) == _MAX_CHUNK_LINE_BYTES:
                    self.error = BadRequest("A line of the chunked body is too long")
                break
            del self._pending[: len(line + end)]
            self._process(line)
        return len(data) - len(self._pending) if self.completed else len(data)

    def _process(self, line: bytes) -> None:
        if self._is_last or self._ends_chunk:
            if line:
                self.error = BadRequest("Trailers and chunks without an end are rejected")
            self.completed, self._ends_chunk = self._is_last and not line, False
            return
        found = _CHUNK_LINE.fullmatch(line)
        if found is None:
            self.error = BadRequest("Invalid size of a chunk")
            return
        self._remaining = int(found[1], 16)
        self._is_last = not self._remaining
        if self._remaining > MAX_BODY_BYTES:
            self.error = RequestEntityTooLarge(f"The body exceeds {MAX_BODY_BYTES} bytes")


class RequestParser(HTTPRequestParser):
    """One request. An invalid one is completed and has an `error`."""

    body_rcv: Any = None
    path = ""
    """Of a request without a valid head; `waitress` logs it."""

    def received(self, data: bytes) -> int:
        """The number of bytes that belong to the request."""
        if self.body_rcv is None and not self.completed:
            head = (self.header_plus + data).partition(_END + _END)[0]
            if _BARE.search(head) or _SPACE.match(head):
                return self._rejected("A line end or space is not valid here", data)
        consumed = int(super().received(data))
        if self.empty:
            return self._rejected("The request is empty", data)
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        """Check the head, then let `waitress` parse it."""
        error = _head_error(header_plus)
        if error is not None:
            self.error, self.completed = error, True
            return
        super().parse_header(header_plus)
        if self.chunked:
            self.body_rcv = ChunkedBody(OverflowableBuffer(self.adj.inbuf_overflow))

    def _rejected(self, reason: str, data: bytes) -> int:
        self.error, self.completed, self.empty = BadRequest(reason), True, False
        return len(data)


def _head_error(head: bytes) -> Error | None:
    first, *lines = head.rstrip(_END).split(_END)
    line = _FIRST_LINE.fullmatch(first)
    if line is None:
        return BadRequest("The first line is not a request of HTTP/1.1")
    if len(line[1]) > MAX_TARGET_BYTES:
        return TargetTooLongError(f"The target exceeds {MAX_TARGET_BYTES} bytes")
    if not line[1].startswith((b"/", b"*")):
        return BadRequest("This is not a proxy: the request target must be a path")
    if len(lines) > MAX_FIELDS:
        return RequestHeaderFieldsTooLarge(f"More than {MAX_FIELDS} header fields")
    fields: dict[bytes, bytes] = {}
    for each in lines:
        found = _FIELD.fullmatch(each)
        if found is None:
            return BadRequest("A header field is not valid")
        name = found[1].lower().replace(b"_", b"-")
        if name in _ONCE and (name in fields or b"_" in found[1]):
            return BadRequest(f"The header field {name.decode()} must occur once")
        fields[name] = found[2].strip(b" \t")
    return _length_error(first, fields)


def _length_error(first: bytes, fields: dict[bytes, bytes]) -> Error | None:
    length, encoding = fields.get(b"content-length"), fields.get(b"transfer-encoding")
    if length is not None and _LENGTH.fullmatch(length) is None:
        return BadRequest("Content-Length is not a number of bytes")
    if encoding is None:
        return None
    if length is not None or first.endswith(b"1.0"):
        return BadRequest("Transfer-Encoding beside Content-Length or of the old version")
    if encoding.lower() != b"chunked":
        return ServerNotImplemented("The only supported Transfer-Encoding is chunked")
    return None
