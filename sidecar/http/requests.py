"""Reads HTTP/1.1 requests strictly, within limits, and in linear time.

If a server and a proxy disagree about where a request ends, an attacker can smuggle requests. So
each form that RFC 9112 calls invalid or ambiguous is an error, as is a chunked body, and the
connection closes after the answer. `waitress` parses only bytes that passed these checks, because
some of its regular expressions take quadratic time for other bytes.
"""

import json
import re
from collections.abc import Mapping

from flask import Response
from waitress.parser import HTTPRequestParser
from waitress.utilities import (
    BadRequest,
    Error,
    RequestHeaderFieldsTooLarge,
    ServerNotImplemented,
)

MAX_BODY_BYTES = 65536
MAX_HEAD_BYTES = 16384
MAX_TARGET_BYTES = 4096
MAX_FIELDS = 100
_END = b"\r\n"
_BARE = re.compile(rb"(?<!\r)\n|\r(?!\n|\Z)")
"""A line feed or carriage return without the other."""
_SPACE = re.compile(rb"(?:\r\n)*[^\S\r]")
_FIRST_LINE = re.compile(rb"[A-Z]{1,32} ([^\x00-\x20\x7f]+) HTTP/1\.[01]")
_FIELD = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([\t\x20-\x7e\x80-\xff]*)")
_LENGTH = re.compile(rb"[0-9]{1,10}")
_ONCE = frozenset((b"content-length", b"transfer-encoding", b"host"))


class TargetTooLongError(Error):
    code = 414
    reason = "URI Too Long"


class LengthRequiredError(Error):
    code = 411
    reason = "Length Required"


class RequestParser(HTTPRequestParser):
    """Parses one request. An invalid request is completed and has an `error`."""

    path = ""
    """The path of a request without a valid head, because `waitress` logs the path."""

    def received(self, data: bytes) -> int:
        """Parse bytes, and return how many of them belong to the request."""
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

    def _rejected(self, reason: str, data: bytes) -> int:
        self.error, self.completed, self.empty = BadRequest(reason), True, False
        return len(data)


def _head_error(head: bytes) -> Error | None:
    first, *lines = head.rstrip(_END).split(_END)
    line = _FIRST_LINE.fullmatch(first)
    if line is None:
        return BadRequest("The first line is not an HTTP/1.1 request line")
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
    return _length_error(fields)


def _length_error(fields: dict[bytes, bytes]) -> Error | None:
    length, encoding = fields.get(b"content-length"), fields.get(b"transfer-encoding")
    if length is not None and _LENGTH.fullmatch(length) is None:
        return BadRequest("Content-Length is not a number of bytes")
    if encoding is None:
        return None
    if length is not None:
        return BadRequest("Content-Length and Transfer-Encoding are mutually exclusive")
    if encoding.lower() != b"chunked":
        return ServerNotImplemented("Transfer-Encoding is not supported")
    # RFC 9112, 6.3, lets a server require a length; no body here is long or of unknown length.
    return LengthRequiredError(
        "A chunked body is not supported. Send the body with Content-Length; curl does so with "
        "--data-binary @FILE instead of --upload-file"
    )


def json_answer(value: Mapping[str, object], status: int = 200) -> Response:
    text = json.dumps(value, indent=2, default=str, ensure_ascii=False) + "\n"
    return Response(text, status=status, mimetype="application/json")


def request_answer(is_accepted: bool, message: str, status: int) -> Response:
    return json_answer({"accepted": is_accepted, "message": message}, status)
