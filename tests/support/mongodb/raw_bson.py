"""BSON written byte by byte: what no driver writes, and servers store or send."""

import struct


def cstring(text: str | bytes) -> bytes:
    return (text.encode() if isinstance(text, str) else text) + b"\0"


def element(tag: int, name: str | bytes, value: bytes) -> bytes:
    return bytes([tag]) + cstring(name) + value


def string(text: str | bytes) -> bytes:
    data = cstring(text)
    return struct.pack("<i", len(data)) + data


def document(*elements: bytes) -> bytes:
    content = b"".join(elements)
    return struct.pack("<i", len(content) + 5) + content + b"\0"


def nested(levels: int) -> bytes:
    """A document of so many levels, itself included."""
    inner = document()
    for _ in range(levels - 1):
        inner = document(element(0x03, "a", inner))
    return inner
