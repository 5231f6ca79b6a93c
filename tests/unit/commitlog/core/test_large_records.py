"""Records larger than what is read at once, wherever in a section they begin."""

from pathlib import Path

import pytest

from tests.oracle.writer import FRAMINGS, PLAIN, Framing, insert, mutation, update, write_segment
from tests.support.segments.damaged_segments import NAME, SCHEMA, TABLE
from tests.support.segments.segment_reading import dump

pytestmark = pytest.mark.heavy

KIB = 1 << 10
CHUNK_ENDS = (256 * KIB, 1024 * KIB)
SIZES = {
    "first of the file": [[3000 * KIB]],
    "first of a section": [[1], [3000 * KIB], [1]],
    "behind a small one": [[1, 3000 * KIB, 1], [1]],
    "one behind the other": [[1500 * KIB, 300 * KIB, 3000 * KIB]],
    "as large as a chunk": [[1024 * KIB, 1, 1024 * KIB], [1, 1024 * KIB - 12]],
}


def check(sections: list[list[int]], framing: Framing, folder: Path) -> None:
    """`sections`: the lengths of values."""
    payloads = [[mutation(update(TABLE, insert(7, b"v" * n))) for n in sizes] for sizes in sections]
    segment = write_segment(payloads, framing=framing)
    path = folder / NAME
    path.write_bytes(segment.data)
    dumped = dump(path, SCHEMA, keys=framing.keys)
    assert dumped.gaps == []
    values = [line["items"][0]["cells"][0]["val"] for line in dumped.lines]
    assert [len(value) // 2 for value in values] == [n for sizes in sections for n in sizes]
    assert [line["pos"] for line in dumped.lines] == [p for e in segment.record_ends for p in e]


@pytest.mark.parametrize("framing", FRAMINGS, ids=lambda framing: framing.name)
@pytest.mark.parametrize("sections", SIZES.values(), ids=SIZES)
def test_large_records(sections: list[list[int]], framing: Framing, tmp_path: Path) -> None:
    check(sections, framing, tmp_path)


@pytest.mark.parametrize("chunk_end", CHUNK_ENDS)
def test_header_across_the_end_of_a_read(chunk_end: int, tmp_path: Path) -> None:
    overhead = len(mutation(update(TABLE, insert(7, bytes(chunk_end))))) + 12 - chunk_end
    for behind in range(-2, 14):
        check([[chunk_end - overhead - behind, 2000 * KIB, 1]], PLAIN, tmp_path)
