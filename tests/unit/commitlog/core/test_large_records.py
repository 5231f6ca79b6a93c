"""Records larger than what is read at once, wherever in a section they begin."""

from pathlib import Path

import pytest

from tests.oracle import writer
from tests.support.segments.damaged_segments import TABLE, read

KIB = 1 << 10
CHUNK_ENDS = (256 * KIB, 1024 * KIB)
SIZES = {
    "first of the file": [[3000 * KIB]],
    "first of a section": [[1], [3000 * KIB], [1]],
    "behind a small one": [[1, 3000 * KIB, 1], [1]],
    "one behind the other": [[1500 * KIB, 300 * KIB, 3000 * KIB]],
}


def payload(number: int, value_bytes: int) -> bytes:
    return writer.mutation(writer.update(TABLE, writer.insert(number, bytes(value_bytes))))


def check(sections: list[list[int]], folder: Path) -> None:
    numbers = iter(range(1000))
    payloads = [[payload(next(numbers), size) for size in sizes] for sizes in sections]
    for data in (writer.segment(payloads), writer.lz4_segment(payloads)):
        lines, gaps = read(data, folder)
        assert gaps == []
        assert len(lines) == sum(map(len, sections))


@pytest.mark.parametrize("sections", SIZES.values(), ids=SIZES)
def test_large_records(sections: list[list[int]], tmp_path: Path) -> None:
    check(sections, tmp_path)


@pytest.mark.parametrize("chunk_end", CHUNK_ENDS)
def test_header_across_the_end_of_a_read(chunk_end: int, tmp_path: Path) -> None:
    overhead = len(writer.record(payload(0, chunk_end))) - chunk_end
    for behind in range(-2, 14):
        check([[chunk_end - overhead - behind, 2000 * KIB, 1]], tmp_path)
