"""Damaged segments, and what may be lost of them."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import commitlog
from tests.oracle import writer
from tests.support.segments.segment_reading import overwrite

NAME = "CommitLog-7-1.log"
TABLE = UUID("5a1c395e-b41f-11e5-9f22-ba0be0483c18")
SCHEMA = commitlog.Schema.from_cql(
    f"CREATE TABLE k.t (p text, c int, v text, PRIMARY KEY (p, c)) WITH ID = {TABLE} AND cdc = true"
)


def mutations(first: int, count: int) -> list[bytes]:
    """Payloads of single-row inserts with distinct clusterings."""
    return [
        writer.mutation(writer.update(TABLE, writer.insert(number, b"value-%d" % number)))
        for number in range(first, first + count)
    ]


def read(
    data: bytes,
    folder: Path,
    schema: commitlog.Schema = SCHEMA,
    name: str = NAME,
    keys: dict[str, bytes] | None = None,
    **options: bool,
) -> tuple[list[bytes], list[commitlog.Gap]]:
    """Dump lines and gaps of a segment given as bytes."""
    path = folder / name
    overwrite(path, data)
    reader = commitlog.SegmentReader(str(path), keys=keys)
    lines: list[bytes] = []
    while chunk := reader.dump(schema, **options):
        lines += chunk.splitlines()
    return lines, reader.gaps


def position(line: bytes) -> int:
    """Where the record of a dump line ends."""
    return int(line.split(b'"pos":')[1].split(b",")[0])


def is_lost_in(line: bytes, gaps: list[commitlog.Gap]) -> bool:
    end = position(line)
    return any(gap.start < end and (gap.end is None or end <= gap.end) for gap in gaps)


def flips(data: bytes, bits: Iterator[int]) -> Iterator[tuple[int, bytes]]:
    for bit in bits:
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        yield bit, bytes(damaged)


def check_damaged(
    label: str, damaged: bytes, whole_lines: list[bytes], folder: Path, **options: object
) -> None:
    """Nothing but lines of the whole segment, and each missing one lies in a gap."""
    try:
        lines, gaps = read(damaged, folder, **options)  # type: ignore[arg-type]
    except commitlog.CommitLogError as error:
        assert NAME in str(error) or str(options.get("name")) in str(error), label
        return
    known = iter(whole_lines)
    assert all(line in known for line in lines), f"{label}: something else came out"
    missing = set(whole_lines) - set(lines)
    unexplained = [line for line in missing if not is_lost_in(line, gaps)]
    assert not unexplained, f"{label}: lost without a word: {unexplained[0]!r}, gaps {gaps}"


SECTIONS = [mutations(0, 3), mutations(3, 1), [], mutations(4, 3)]
PLAIN = writer.segment(SECTIONS)
LZ4 = writer.lz4_segment(SECTIONS)
