"""Damaged segments: intact records are delivered, losses are reported, nothing wrong is returned.

Also fingerprints of segments, and reads that another thread interrupts."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import commitlog
from tests.oracle import writer
from tests.oracle.reference.recordings import Scenario, scenarios
from tests.oracle.reference.segment import read_bytes
from tests.oracle.writer import FRAMINGS, Framing, Written, write_segment
from tests.support.segments.damaged_segments import (
    LZ4,
    NAME,
    PLAIN,
    SCHEMA,
    TABLE,
    check_damaged,
    flips,
    mutations,
    position,
    read,
)
from tests.support.segments.missing_ends import payload
from tests.support.segments.segment_reading import FORMAT, overwrite, schema_of

whole_segments = pytest.mark.parametrize("whole", [PLAIN, LZ4], ids=["plain", "lz4"])


@whole_segments
def test_flipped_bit_loses_only_damaged_records(whole: bytes, tmp_path: Path) -> None:
    lines, _ = read(whole, tmp_path)
    for bit, damaged in flips(whole, iter(range(len(whole) * 8))):
        check_damaged(f"bit {bit}", damaged, lines, tmp_path)


def test_segment_error_contains_segment_name(tmp_path: Path) -> None:
    for data, what in [
        (b"", "header is incomplete"),
        (bytes(4096), "header is damaged"),
        (writer.header(7, 1)[:-1] + b"\0", "header is damaged"),
        (writer.header(5, 1), "version 5 is not supported"),
        (writer.header(5, 1), "Cassandra 2.2 or earlier; upgrade the node"),
        (writer.header(10, 1), "version 10 is not supported"),
        (writer.header(99, 1), "newer Cassandra wrote it; upgrade the agent"),
        (writer.header(7, 1, b'{"compressionClass":"OwnCompressor"}'), "OwnCompressor"),
        (writer.header(7, 1, b'{"encCipher":"AES","encKeyAlias":"k"}'), 'the key "k"'),
        (writer.header(7, 1, b"[]"), "not JSON"),
    ]:
        with pytest.raises(commitlog.CommitLogError) as caught:
            read(data, tmp_path)
        assert what in str(caught.value)
        assert NAME in str(caught.value)


@pytest.mark.parametrize("size", [0, 1, 9, 1 << 20, (1 << 31) - 1, (1 << 32) - 1])
def test_hostile_record_size_loses_only_its_section(size: int, tmp_path: Path) -> None:
    """An impossible size with a valid checksum loses its section; the next section is read."""
    hostile = writer.be32(size) + writer.be32(crc32(writer.be32(size))) + bytes(8)
    first = b"".join(writer.record(payload) for payload in mutations(0, 1))
    start = writer.header(7, 1)
    section_end = len(start) + 8 + len(first) + len(hostile)
    data = start + writer.marker(1, len(start), section_end) + first + hostile
    content = b"".join(writer.record(payload) for payload in mutations(1, 1))
    data += writer.marker(1, len(data), len(data) + 8 + len(content)) + content + bytes(8)
    lines, gaps = read(data, tmp_path)
    assert ([b"value-0".hex() in line.decode() for line in lines], len(lines)) == ([True, False], 2)
    assert [(gap.start, gap.end) for gap in gaps] == [(section_end - len(hostile), section_end)]


HOSTILE_VINTS = [writer.uvint(n) for n in (1 << 20, 1 << 31, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)]


@pytest.mark.parametrize("vint", HOSTILE_VINTS, ids=bytes.hex)
def test_hostile_length_inside_payload_loses_only_its_record(vint: bytes, tmp_path: Path) -> None:
    """Every length and count of a payload, replaced by a huge one."""
    good = mutations(0, 1)[0]
    for place in range(len(good)):
        hostile = good[:place] + vint + good[place + 1 :]
        data = writer.segment([[hostile, *mutations(1, 1)]])
        path = tmp_path / NAME
        overwrite(path, data)
        reader = commitlog.SegmentReader(str(path))
        batch = reader.read(SCHEMA, FORMAT, complete=True)
        if batch.blocked is not None:
            assert batch.blocked.reason
            abandoned = [(batch.blocked.table_id, batch.blocked.column)]
            end = batch.blocked.position
            batch = reader.read(SCHEMA, FORMAT, complete=True, abandoned=abandoned)
            assert [(lost.start, lost.end) for lost in batch.lost] == [(28, end)]
        assert batch.stop == "end"
        assert b"value-1" in batch.ndjson(0, len(batch))


def _positions(reader: commitlog.SegmentReader) -> list[int]:
    lines: list[bytes] = []
    while chunk := reader.dump(SCHEMA):
        lines += chunk.splitlines()
    return [position(line) for line in lines]


@pytest.mark.parametrize("first", [0, 1, 2, 3, 4])
def test_reader_resumes_after_marker_pointing_into_zeros(first: int, tmp_path: Path) -> None:
    """Zeros of a value or of unwritten space look like the end of the chain."""
    values = [b"v" * 5, b"w" * 5, bytes(100), b"x" * 5, b"y" * 5]
    payloads = [
        writer.mutation(writer.update(TABLE, writer.insert(number, value)))
        for number, value in enumerate(values)
    ]
    whole = writer.write_segment([[payload] for payload in payloads])
    ends = [section[0] for section in whole.record_ends]
    damaged = bytearray(whole.data)
    marker = whole.markers[1]
    damaged[marker : marker + 4] = writer.be32(ends[2] - 50)
    path = tmp_path / NAME
    path.write_bytes(damaged)
    reader = commitlog.SegmentReader(str(path), position=ends[first])
    assert _positions(reader) == ends[first + 1 :]
    assert [gap.start for gap in reader.gaps][:1] in ([marker], [ends[2] - 50])


def test_reader_resumes_before_padding_with_wrong_marker(tmp_path: Path) -> None:
    records = [writer.record(payload) for payload in mutations(0, 3)]
    data = bytearray(writer.header(7, 1))
    markers, ends = [], []
    for content, room in zip(records, (0, 60, 0), strict=True):
        markers.append(len(data))
        end = len(data) + writer.MARKER_LENGTH + len(content) + room
        data += writer.marker(1, len(data), end) + content + bytes(room)
        ends.append(end - room)
    data[markers[0] : markers[0] + 4] = writer.be32(ends[1] + 20)
    path = tmp_path / NAME
    path.write_bytes(data + bytes(16))
    assert _positions(commitlog.SegmentReader(str(path))) == ends
    reader = commitlog.SegmentReader(str(path), position=ends[1])
    assert _positions(reader) == ends[2:]
    assert [(gap.start, gap.end) for gap in reader.gaps] == [(markers[0], markers[0] + 8)]


def _smallest_real_segments() -> list[tuple[Scenario, Path, str]]:
    found = [
        (scenario, path, name) for scenario in scenarios() for path, name in scenario.segments()
    ]
    return sorted(found, key=lambda entry: entry[1].stat().st_size)[:40:8]


@pytest.mark.parametrize("entry", _smallest_real_segments(), ids=lambda e: f"{e[0]}/{e[2]}")
def test_recorded_segments_survive_flipped_bits(
    entry: tuple[Scenario, Path, str], tmp_path: Path
) -> None:
    scenario, packed, name = entry
    schema = schema_of(scenario)
    whole = read_bytes(packed)
    keys = scenario.keys()
    lines, _ = read(whole, tmp_path, schema, name, keys)
    end = max((position(line) for line in lines), default=len(whole))
    seed = 20_250_101
    bits = random.Random(seed).sample(range(min(end, len(whole)) * 8), 60)
    print(f"seed {seed}")
    for bit, damaged in flips(whole, iter(bits)):
        check_damaged(f"bit {bit}", damaged, lines, tmp_path, schema=schema, name=name, keys=keys)


@pytest.mark.parametrize("entry", _smallest_real_segments()[:2], ids=lambda e: f"{e[0]}/{e[2]}")
def test_truncated_recorded_segments_yield_leading_lines(
    entry: tuple[Scenario, Path, str], tmp_path: Path
) -> None:
    scenario, packed, name = entry
    schema = schema_of(scenario)
    whole = read_bytes(packed)
    keys = scenario.keys()
    lines, _ = read(whole, tmp_path, schema, name, keys)
    ends = {position(line) for line in lines}
    places = {*range(4096), *(end + step for end in ends for step in (-1, 0, 1))}
    for length in sorted(place for place in places if place < len(whole)):
        try:
            found, _ = read(whole[:length], tmp_path, schema, name, keys)
        except commitlog.CorruptSegmentError as error:
            assert name in str(error)
            continue
        assert found == lines[: len(found)], f"cut at {length}"


unencrypted = st.sampled_from([each for each in FRAMINGS if not each.keys])


def written_sections(framing: Framing, first: int, sections: list[list[int]]) -> Written:
    payloads = [[payload(first, length, 7) for length in section] for section in sections]
    return write_segment(payloads, 7, 1, framing)


def fingerprint(data: bytes) -> int:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "CommitLog-7-1.log"
        path.write_bytes(data)
        return commitlog.SegmentReader(str(path)).fingerprint


@settings(max_examples=40)
@given(
    unencrypted,
    st.lists(st.lists(st.integers(0, 300), min_size=1, max_size=3), min_size=2, max_size=4),
    st.integers(0, 1 << 20),
)
def test_fingerprint_stays_while_node_appends(
    framing: Framing, sections: list[list[int]], preallocated: int
) -> None:
    whole = written_sections(framing, 1, sections)
    expected = fingerprint(whole.data)
    for end in whole.markers[1:]:
        assert fingerprint(whole.data[:end]) == expected
        assert fingerprint(whole.data[:end] + bytes(preallocated)) == expected
    assert fingerprint(written_sections(framing, 2, sections).data) != expected


def test_interrupted_reader_stops_reading(tmp_path: Path) -> None:
    path = tmp_path / "CommitLog-7-1.log"
    path.write_bytes(written_sections(FRAMINGS[0], 1, [[10]]).data)
    reader = commitlog.SegmentReader(str(path))
    reader.interrupt()
    with pytest.raises(OSError, match="interrupted"):
        reader.verify()
