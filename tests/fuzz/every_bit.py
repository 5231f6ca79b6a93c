"""A segment of 64 KiB with one bit flipped, for any of its bits.

Whatever the bit: no line that is not the original's, each missing line lies in a reported gap, and
at most one record is lost, or of a compressed section what cannot be decompressed.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import commitlog
from tests.writer import LZ4, PLAIN, Framing, Written, insert, mutation, update, write_segment

NAME = "CommitLog-7-1.log"
TABLE = UUID("5a1c395e-b41f-11e5-9f22-ba0be0483c18")
SCHEMA_TEXT = f"CREATE TABLE k.t (p text, c int, v text, PRIMARY KEY (p, c)) WITH ID = {TABLE}"
SEGMENT_BYTES = 64 << 10
SECTIONS = 12
EMPTY_SECTION = 5


@dataclass(frozen=True, slots=True)
class Specimen:
    """A segment and what it says."""

    framing: Framing
    written: Written
    lines: tuple[bytes, ...]
    positions: tuple[int, ...]
    header_bits: int


def specimen(framing: Framing, folder: Path) -> Specimen:
    """Sections of records between 60 bytes and 4 KiB, an empty one among them."""
    rng = random.Random(7)
    sections: list[list[bytes]] = [[] for _ in range(SECTIONS + 1)]
    number = 0
    written = write_segment(sections, framing=framing)
    while len(written.data) < SEGMENT_BYTES:
        for _ in range(8):
            value = rng.randbytes(rng.choice((4, 40, 150))).hex().encode() + bytes(number % 50)
            if number % 40 == 39:
                value *= 10
            section = number * number // 5 % SECTIONS
            section += section >= EMPTY_SECTION
            sections[section].append(mutation(update(TABLE, insert(number, value))))
            number += 1
        written = write_segment(sections, framing=framing)
    path = folder / NAME
    path.write_bytes(written.data)
    lines, gaps = read(path)
    positions = tuple(position for ends in written.record_ends for position in ends)
    assert not gaps
    assert len(lines) == len(positions) == number
    header_bits = written.markers[0] * 8
    return Specimen(framing, written, tuple(lines), positions, header_bits)


def read(path: Path) -> tuple[list[bytes], list[commitlog.Gap]]:
    """Dump lines and gaps of a segment that is final."""
    reader = commitlog.SegmentReader(str(path))
    lines: list[bytes] = []
    while chunk := reader.dump(SCHEMA):
        lines += chunk.splitlines()
    return lines, reader.gaps


SCHEMA = commitlog.Schema.from_cql(SCHEMA_TEXT)


def every_bit(whole: Specimen) -> range:
    """All bits of the file."""
    return range(len(whole.written.data) * 8)


def some_bits(whole: Specimen, step: int) -> Iterator[int]:
    """Every bit of every marker and each `step`-th of all."""
    for marker in whole.written.markers:
        yield from range(marker * 8, min((marker + 8) * 8, len(whole.written.data) * 8))
    yield from range(0, len(whole.written.data) * 8, step)


def check(whole: Specimen, bits: Iterable[int], folder: Path) -> None:
    """Flips each of the bits alone. Raises AssertionError with the bit."""
    path = folder / NAME
    path.write_bytes(whole.written.data)
    with path.open("r+b", buffering=0) as file:
        for bit in bits:
            place, byte = bit // 8, whole.written.data[bit // 8]
            file.seek(place)
            file.write(bytes([byte ^ 1 << bit % 8]))
            try:
                _check_one(whole, bit, path)
            finally:
                file.seek(place)
                file.write(bytes([byte]))


def _check_one(whole: Specimen, bit: int, path: Path) -> None:
    label = f"{whole.framing.name}, bit {bit} (byte {bit // 8})"
    try:
        lines, gaps = read(path)
    except commitlog.CommitLogError as error:
        assert bit < whole.header_bits, f"{label}: {error}"
        return
    assert bit >= whole.header_bits, f"{label}: a damaged header was believed"
    found = iter(lines)
    line = next(found, None)
    lost = []
    for expected, position in zip(whole.lines, whole.positions, strict=True):
        if line == expected:
            line = next(found, None)
        else:
            lost.append(position)
    assert line is None, f"{label}: something else came out: {line[:200]!r}"
    for position in lost:
        is_told = any(gap.start < position <= (gap.end or position) for gap in gaps)
        assert is_told, f"{label}: {position} is lost without a word, gaps {gaps}"
    most = 1
    if whole.framing.name != PLAIN.name:
        most = max(len(ends) for ends in whole.written.record_ends)
    assert len(lost) <= most, f"{label}: {len(lost)} records lost, gaps {gaps}"


SPECIMENS = (PLAIN, LZ4)
