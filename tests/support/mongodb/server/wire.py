"""Framing of MongoDB's wire protocol: OP_MSG, and OP_QUERY for the first `hello` of a client.

A message is a header of four little-endian int32 (length, request id, response to, opcode) and a
body. Compression is never offered, so OP_COMPRESSED never comes; checksums are not computed.
"""

import socket
import struct
from dataclasses import dataclass
from typing import Any

import bson
from bson.codec_options import CodecOptions, DatetimeConversion

from tests.support.servers.frame_proxy import exactly

Document = dict[str, Any]

CODEC: CodecOptions[Document] = CodecOptions(
    document_class=dict, tz_aware=False, datetime_conversion=DatetimeConversion.DATETIME_AUTO
)
MAX_DOCUMENT_BYTES = 16 * 1024 * 1024
MAX_MESSAGE_BYTES = 48_000_000
_HEADER = struct.Struct("<iiii")
_OP_REPLY = 1
_OP_QUERY = 2004
_OP_MSG = 2013
_TLS_HANDSHAKE = b"\x16\x03"
_CHECKSUM_PRESENT = 1 << 0
_MORE_TO_COME = 1 << 1


class ProtocolError(Exception):
    """Bytes that are no message of the protocol."""


@dataclass(frozen=True)
class Request:
    """One message of a client. `is_answered` is false for an unacknowledged write."""

    request_id: int
    body: Document
    is_query: bool
    is_answered: bool


def encode(document: Document) -> bytes:
    return bson.encode(document, codec_options=CODEC)


def decode(data: bytes) -> Document:
    return bson.decode(data, CODEC)


def copied(document: Document) -> Document:
    """The document as it comes back from the wire; shares nothing with the argument."""
    return decode(encode(document))


def read_request(connection: socket.socket) -> Request | None:
    """The next message, or None where the client closed."""
    header = exactly(connection, _HEADER.size)
    if header is None:
        return None
    length, request_id, _, opcode = _HEADER.unpack(header)
    if length > MAX_MESSAGE_BYTES and header.startswith(_TLS_HANDSHAKE):
        raise ConnectionError("the client speaks TLS")
    if not _HEADER.size < length <= MAX_MESSAGE_BYTES:
        raise ProtocolError(f"a message of {length} bytes")
    data = exactly(connection, length - _HEADER.size)
    if data is None:
        return None
    if opcode == _OP_MSG:
        return _parse_msg(request_id, data)
    if opcode == _OP_QUERY:
        return _parse_query(request_id, data)
    raise ProtocolError(f"opcode {opcode}")


def response(request: Request, body: Document, response_id: int) -> bytes:
    """The message that answers `request` with `body`."""
    document = encode(body)
    if request.is_query:
        payload = struct.pack("<iqii", 8, 0, 0, 1) + document
        opcode = _OP_REPLY
    else:
        payload = struct.pack("<IB", 0, 0) + document
        opcode = _OP_MSG
    header = _HEADER.pack(_HEADER.size + len(payload), response_id, request.request_id, opcode)
    return header + payload


def _parse_msg(request_id: int, data: bytes) -> Request:
    (flags,) = struct.unpack_from("<I", data)
    end = len(data) - 4 if flags & _CHECKSUM_PRESENT else len(data)
    body: Document | None = None
    sequences: dict[str, list[Document]] = {}
    at = 4
    while at < end:
        kind = data[at]
        at += 1
        (size,) = struct.unpack_from("<i", data, at)
        section = data[at : at + size]
        if kind == 0:
            body = decode(section)
        elif kind == 1:
            name_end = section.index(0, 4)
            name = section[4:name_end].decode()
            sequences[name] = bson.decode_all(section[name_end + 1 :], CODEC)
        else:
            raise ProtocolError(f"a section of kind {kind}")
        at += size
    if body is None:
        raise ProtocolError("OP_MSG without a body")
    return Request(request_id, {**body, **sequences}, False, not flags & _MORE_TO_COME)


def _parse_query(request_id: int, data: bytes) -> Request:
    name_end = data.index(0, 4)
    database = data[4:name_end].decode().partition(".")[0]
    document = decode(data[name_end + 1 + 8 :])
    return Request(request_id, {**document, "$db": database}, True, True)
