"""Replies that a hostile server or a broken network sends, made of whole ones (`mongo_proxy`)."""

import functools
import random
import re
import struct
import zlib
from collections.abc import Callable
from dataclasses import replace

from tests.support.mongodb.proxy import (
    HEADER,
    OP_COMPRESSED,
    Fault,
    Sent,
    compressed,
    document_of,
    message_of,
)

LONGEST = 2**31 - 1
_LENGTH = struct.Struct("<i")


def header(**members: int) -> Fault:
    """Other members of the header: length, request_id, response_to, opcode."""

    def altered(message: bytes) -> Sent:
        names = ("length", "request_id", "response_to", "opcode")
        values = dict(zip(names, HEADER.unpack_from(message), strict=True)) | members
        return Sent(HEADER.pack(*(values[name] for name in names)) + message[HEADER.size :])

    return altered


def answers_another_request(message: bytes) -> Sent:
    length, request_id, response_to, opcode = HEADER.unpack_from(message)
    return Sent(HEADER.pack(length, request_id, response_to + 1, opcode) + message[HEADER.size :])


def flags(value: int) -> Fault:
    return lambda message: Sent(_patched(message, HEADER.size, struct.pack("<I", value)))


def kind_of_section(message: bytes) -> Sent:
    return Sent(_patched(message, HEADER.size + 4, b"\x07"))


def cut_in_the_middle(message: bytes) -> Sent:
    return Sent(message[: len(message) // 2], is_cut=True)


def cut_in_the_header(message: bytes) -> Sent:
    return Sent(message[:7], is_cut=True)


def no_answer(message: bytes) -> Sent:
    return Sent(b"")


def trickles(message: bytes) -> Sent:
    """Bytes arrive all the time, and the message does not end."""
    return replace(header(length=40_000_000)(message), is_endless=True)


def answers_twice(message: bytes) -> Sent:
    return Sent(message + message)


def half_a_document(message: bytes) -> Sent:
    """The length of the message is right; its document ends early."""
    document = document_of(message)
    return Sent(message_of(message, document[: len(document) // 2]))


def length_of_document(change: int | None) -> Fault:
    """The outermost document claims so many bytes more; None: the most."""
    return lambda message: Sent(
        message_of(message, _length_changed(document_of(message), 0, change))
    )


def length_after(prefix: bytes, change: int | None) -> Fault:
    """The length after a pattern is changed: `rb"\\x02name\\0"` is that of a string."""

    def altered(message: bytes) -> Sent:
        document = document_of(message)
        place = _found(prefix, document).end()
        return Sent(message_of(message, _length_changed(document, place, change)))

    return altered


def type_of(prefix: bytes, tag: int) -> Fault:
    """The element at a pattern, its type and name, has another type."""

    def altered(message: bytes) -> Sent:
        document = document_of(message)
        return Sent(
            message_of(message, _patched(document, _found(prefix, document).start(), bytes([tag])))
        )

    return altered


def without(member: bytes) -> Fault:
    """A member has another name, so that the one that is expected is missing."""

    def altered(message: bytes) -> Sent:
        document = document_of(message)
        found = _found(member, document)
        other = b"x" * len(found[0])
        return Sent(message_of(message, _patched(document, found.start(), other)))

    return altered


def noise(seed: int) -> Fault:
    """Other bytes in place of the document, each time."""
    source = random.Random(seed)
    return lambda message: Sent(message_of(message, source.randbytes(len(document_of(message)))))


def compressed_noise(number: int, content: bytes = b"\xff\xfe" * 20) -> Fault:
    """The content is no content of the compressor with this id of the protocol."""
    return lambda message: Sent(compressed(message, number, content))


def compressed_size(claim: Callable[[int], int]) -> Fault:
    """Compressed by zlib, with a claim about the size of the content."""

    def altered(message: bytes) -> Sent:
        content = message[HEADER.size :]
        return Sent(compressed(message, 2, zlib.compress(content), claim(len(content))))

    return altered


def compressed_bomb(message: bytes) -> Sent:
    """A few bytes that become 100 MB, with the claim that they do not."""
    return Sent(compressed(message, 2, _bomb()))


def compressed_and_cut(message: bytes) -> Sent:
    content = zlib.compress(message[HEADER.size :])
    return Sent(compressed(message, 2, content[: len(content) // 2]))


def compressed_without_content(message: bytes) -> Sent:
    _, request_id, response_to, _ = HEADER.unpack_from(message)
    return Sent(HEADER.pack(HEADER.size, request_id, response_to, OP_COMPRESSED))


@functools.cache
def _bomb() -> bytes:
    return zlib.compress(bytes(100_000_000))


def _found(pattern: bytes, document: bytes) -> re.Match[bytes]:
    found = re.search(pattern, document)
    assert found is not None
    return found


def _patched(data: bytes, place: int, new: bytes) -> bytes:
    return data[:place] + new + data[place + len(new) :]


def _length_changed(data: bytes, place: int, change: int | None) -> bytes:
    (length,) = _LENGTH.unpack_from(data, place)
    return _patched(data, place, _LENGTH.pack(LONGEST if change is None else length + change))
