"""Blocks of each compressor that expand to far more than they are."""

import zlib

BOMB_BYTES = (2 << 30) - 1
LARGE_BYTES = 511 << 20
"""Nearly the most that a section may have."""
PREFIX = "org.apache.cassandra.io.compress."
"""Of the compressors' classes."""


def zstd_bomb(length: int = BOMB_BYTES) -> bytes:
    """A frame that names its length, of blocks that repeat one byte 128 KiB times each."""
    # Magic; a single segment with a content size of 4 bytes; the size.
    frame = bytearray(bytes.fromhex("28b52ffd") + bytes([0xA0]) + length.to_bytes(4, "little"))
    left = length
    while left:
        size = min(left, 128 << 10)
        left -= size
        # Bit 0: the last block; bits 1 and 2: type 1, repeated; the rest: its size.
        frame += ((size << 3) | (1 << 1) | (left == 0)).to_bytes(3, "little") + b"\0"
    return bytes(frame)


def deflated(block: bytes, wbits: int = zlib.MAX_WBITS) -> bytes:
    """2 GiB of these MiB, with the checksum of zeros: a flush ends a block without memory of those
    before it, so one serves for all."""
    packer = zlib.compressobj(9, wbits=wbits)
    first, again = (packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    last = packer.compress(block[: BOMB_BYTES & 0xFFFFF]) + packer.flush()
    checksum = (BOMB_BYTES % 65521 << 16 | 1).to_bytes(4, "big")
    return first + again * ((BOMB_BYTES >> 20) - 1) + last[:-4] + checksum


def deflate_bomb() -> bytes:
    return deflated(bytes(1 << 20))


def lz4_bomb(length: int = BOMB_BYTES) -> bytes:
    """One literal, a match of all the rest, and the five literals that end every block."""
    more = length - 6 - 4 - 15
    match = b"\xff" * (more // 255) + bytes([more % 255])
    block = bytes([0x1F, 0]) + b"\x01\x00" + match + bytes([0x50]) + bytes(5)
    return length.to_bytes(4, "little") + block


def snappy_bomb() -> bytes:
    """The size of the literal that begins it, then copies of 64 bytes from one byte before."""
    copies, rest = divmod(BOMB_BYTES - 1, 64)
    size, value = b"", BOMB_BYTES
    while value:
        size += bytes([(value & 0x7F) | (0x80 if value > 0x7F else 0)])
        value >>= 7
    copy = bytes([(63 << 2) | 2, 1, 0])
    last = bytes([((rest - 1) << 2) | 2, 1, 0]) if rest else b""
    return size + b"\0\0" + copy * copies + last
