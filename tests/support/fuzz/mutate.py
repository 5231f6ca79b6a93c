"""Ways to damage a segment, each a function of bytes and a random generator."""

import random
import zlib
from collections.abc import Callable

Mutator = Callable[[bytes, random.Random], bytes]


def flip_bits(data: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        bit = rng.randrange(len(damaged) * 8)
        damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def zero_a_range(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data))
    length = min(rng.choice((1, 4, 8, 64, 4096)), len(data) - start)
    return data[:start] + bytes(length) + data[start + length :]


def repeat_a_range(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data))
    length = rng.choice((1, 8, 64, 4096))
    return data[: start + length] + data[start:]


def remove_a_range(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.choice((1, 8, 64, 4096)) :]


def overwrite_a_word(data: bytes, rng: random.Random) -> bytes:
    """Numbers that overflow, in a place where a length may stand."""
    start = rng.randrange(len(data))
    word = rng.choice((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)).to_bytes(4, "big")
    return data[:start] + word + data[start + 4 :]


STRUCTURE: tuple[Mutator, ...] = (
    flip_bits,
    cut,
    zero_a_range,
    repeat_a_range,
    remove_a_range,
    overwrite_a_word,
)


def record_with(payload: bytes) -> bytes:
    """A record whose checksums are good whatever its payload is."""
    length = len(payload).to_bytes(4, "big")
    crc = zlib.crc32(length)
    end = zlib.crc32(payload, crc).to_bytes(4, "big")
    return length + crc.to_bytes(4, "big") + payload + end


def payload_mutant(payload: bytes, rng: random.Random) -> bytes:
    """A payload that no node wrote, at least as long as the shortest record."""
    mutant = rng.choice(STRUCTURE)(payload, rng)
    return mutant.ljust(10, b"\0")
