"""Raw `_id`s: the document `{_id: …}` cut from a larger one, byte for byte.

Decoding and encoding would change some values: a symbol becomes a string, and text that is not
UTF-8 fails. A bound that differs from the server's value could exclude documents.
"""

import struct

_ID = b"_id"
_SIZES = {
    0x01: 8,
    0x06: 0,
    0x07: 12,
    0x08: 1,
    0x09: 8,
    0x0A: 0,
    0x10: 4,
    0x11: 8,
    0x12: 8,
    0x13: 16,
    0x7F: 0,
    0xFF: 0,
}
"""Sizes of fixed-size values, in bytes."""
_EXTRA_BYTES = {0x02: 0, 0x03: -4, 0x04: -4, 0x05: 1, 0x0C: 12, 0x0D: 0, 0x0E: 0, 0x0F: -4}
"""Bytes of a value beyond its length prefix; the length of a document includes the prefix."""
_PATTERN = 0x0B


def id_document(document: bytes) -> bytes:
    """Extract `{_id: …}` of a raw document. Raises ValueError without one."""
    try:
        return _id_document(document)
    except (IndexError, KeyError, struct.error) as error:
        raise ValueError(f"a document of {len(document)} bytes cannot be read") from error


def _id_document(document: bytes) -> bytes:
    start = 4
    while document[start]:
        name_end = document.index(0, start + 1)
        end = name_end + 1 + _value_bytes(document, document[start], name_end + 1)
        if document[start + 1 : name_end] == _ID:
            element = document[start:end]
            return struct.pack("<i", len(element) + 5) + element + b"\0"
        start = end
    raise ValueError("the document has no _id")


def _value_bytes(document: bytes, kind: int, start: int) -> int:
    if kind in _SIZES:
        return _SIZES[kind]
    if kind == _PATTERN:
        options = document.index(0, start) + 1
        return document.index(0, options) + 1 - start
    extra = _EXTRA_BYTES[kind]
    (length,) = struct.unpack_from("<i", document, start)
    if length < 0:
        raise IndexError
    return int(length) + extra + 4
