"""How the records of a section are stored, a value for each framing (format notes §2.4 to §2.6)."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.writer.numbers import be32

DIRECT_IO_BLOCK = 4096


@dataclass(frozen=True, slots=True)
class Framing:
    """What the header says, and the bytes behind a marker and behind the whole chain.

    `store` turns the records of a section into what stands between two markers; `tail` gives what
    follows the last section from the length of the file so far.
    """

    name: str
    parameters: bytes
    store: Callable[[bytes], bytes]
    tail: Callable[[int], bytes]

    @property
    def is_plain(self) -> bool:
        """Whether logical and physical positions are the same."""
        return self.parameters == b"{}"


def lz4_literals(content: bytes) -> bytes:
    """An LZ4 block with its length in front that stands for `content` and compresses nothing."""
    length = len(content)
    token = bytes([min(length, 15) << 4])
    more = b"" if length < 15 else b"\xff" * ((length - 15) // 255) + bytes([(length - 15) % 255])
    return length.to_bytes(4, "little") + token + more + content


def compressed(class_name: str, block: Callable[[bytes], bytes]) -> Framing:
    """The framing of a compressor: the length of the records, then one block (§2.5)."""
    return Framing(
        class_name,
        b'{"compressionClass":"%s","compressionParameters":null}' % class_name.encode(),
        lambda content: be32(len(content)) + block(content),
        lambda length: b"",
    )


PLAIN = Framing("plain", b"{}", bytes, lambda length: bytes(16))
"""A memory-mapped segment: zeros behind the chain (§2.4)."""

DIRECT_IO = Framing("direct I/O", b"{}", bytes, lambda length: bytes(-length % DIRECT_IO_BLOCK))
"""The same, grown in whole blocks: the chain can end with the file (§2.4)."""

LZ4 = compressed("LZ4Compressor", lz4_literals)

FRAMINGS = (PLAIN, DIRECT_IO, LZ4)
