"""A log that ends before a position that an index named is a gap, in every framing and version.

The test cuts and zeroes segments at every section boundary and at random places, and holds that
the events that are delivered and the ranges on record are all of the log up to that position.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import commitlog
from tests.oracle.writer import FRAMINGS, MARKER_LENGTH, Framing, Written, insert, write_segment
from tests.oracle.writer.numbers import uvint
from tests.oracle.writer.statements import mutation, update
from tests.unit.commitlog.core.reading import FORMAT, overwrite

VERSIONS = (6, 7, 8, 9)
TABLE_ID = UUID("5a1c395e-b41f-11e5-9f22-ba0be0483c18")
SCHEMA = commitlog.Schema.from_cql(
    "CREATE TABLE k.t (p text, c int, v text, PRIMARY KEY (p, c)) "
    f"WITH cdc = true AND ID = {TABLE_ID}"
)
every_framing = pytest.mark.parametrize("framing", FRAMINGS, ids=lambda framing: framing.name)
every_version = pytest.mark.parametrize("version", VERSIONS)
few = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
lengths = st.lists(st.lists(st.integers(0, 300), max_size=4), min_size=1, max_size=5)
"""Lengths of values; a section without any is an empty one."""


@dataclass(frozen=True)
class Range:
    """Logical positions; `end` None: to the end of the segment."""

    start: int
    end: int | None


@dataclass(frozen=True)
class Result:
    """What reads of one segment gave."""

    positions: tuple[int, ...]
    """Ends of the records whose events were delivered. Behind a block whose stored length is
    damaged they are not those of the whole segment."""
    ids: tuple[bytes, ...]
    """Ids of these events; each record has one of its own."""
    gaps: tuple[Range, ...]
    """Ranges that are reported. A segment whose first encrypted bytes make no sense waits for
    another key as a whole, and is put on record when none comes."""


@every_version
@every_framing
@few
@given(sections=lengths)
def test_a_whole_segment_has_no_gap(
    framing: Framing, version: int, sections: list[list[int]], tmp_path: Path
) -> None:
    segment = segment_of(sections, framing, version)
    for end in segment.section_ends:
        result = read(tmp_path, segment.data, framing, version, end)
        assert result.gaps == ()
        assert result.positions == ends_of(segment)


@every_version
@every_framing
@few
@given(sections=lengths, data=st.data())
def test_what_is_cut_or_zeroed_is_delivered_or_on_record(
    framing: Framing, version: int, sections: list[list[int]], data: st.DataObject, tmp_path: Path
) -> None:
    segment = segment_of(sections, framing, version)
    boundaries = st.sampled_from((*segment.markers, segment.chain_end))
    anywhere = st.integers(segment.markers[0], segment.chain_end)
    start = data.draw(boundaries | anywhere, "start")
    named = data.draw(st.sampled_from(segment.section_ends), "named")
    damage = data.draw(st.sampled_from(("cut", "zero to the end", "zero a part")), "damage")
    stop = len(segment.data)
    if damage == "zero a part":
        stop = data.draw(st.integers(start, segment.chain_end), "stop")
    damaged = bytearray(segment.data)
    damaged[start:stop] = b"" if damage == "cut" else bytes(stop - start)
    whole = read(tmp_path, segment.data, framing, version, 0)
    result = read(tmp_path, bytes(damaged), framing, version, named)
    note(str(result))
    require_all(segment, whole, result, named, is_plain=framing in FRAMINGS[:2])


@every_version
@every_framing
def test_each_section_boundary(framing: Framing, version: int, tmp_path: Path) -> None:
    segment = segment_of([[5, 300], [], [40, 1], [7]], framing, version)
    named = segment.section_ends[-1]
    whole = read(tmp_path, segment.data, framing, version, 0)
    for number, boundary in enumerate(segment.markers):
        for damaged in (
            segment.data[:boundary],
            segment.data[:boundary] + bytes(len(segment.data) - boundary),
        ):
            result = read(tmp_path, damaged, framing, version, named)
            before = tuple(end for ends in segment.record_ends[:number] for end in ends)
            assert result.positions == before
            assert result.gaps, (number, boundary)
            require_all(segment, whole, result, named, is_plain=framing in FRAMINGS[:2])


@every_version
@pytest.mark.parametrize("framing", FRAMINGS[:2], ids=lambda framing: framing.name)
def test_records_behind_a_marker_that_was_zeroed_are_delivered(
    framing: Framing, version: int, tmp_path: Path
) -> None:
    segment = segment_of([[5], [40, 1], [7]], framing, version)
    for marker in segment.markers:
        damaged = bytearray(segment.data)
        damaged[marker : marker + MARKER_LENGTH] = bytes(MARKER_LENGTH)
        result = read(tmp_path, bytes(damaged), framing, version, segment.section_ends[-1])
        assert result.positions == ends_of(segment)
        assert result.gaps == (Range(marker, marker + MARKER_LENGTH),)


@every_framing
def test_a_later_reader_reports_the_same_gap(framing: Framing, tmp_path: Path) -> None:
    """A process that was killed starts at the acknowledged position."""
    segment = segment_of([[5], [40], [7]], framing, 7)
    damaged = segment.data[: segment.markers[2]]
    end, named = segment.section_ends[1], segment.section_ends[2]
    first = read(tmp_path, damaged, framing, 7, named)
    again = read(tmp_path, damaged, framing, 7, named, position=end)
    assert again.positions == ()
    assert again.gaps == first.gaps


def test_nothing_behind_the_named_position_is_read_where_no_marker_closes_it(
    tmp_path: Path,
) -> None:
    """Whole records behind the last synced position are writes that a killed node forgets."""
    framing = FRAMINGS[0]
    segment = segment_of([[5], [40], [7]], framing, 7)
    damaged = bytearray(segment.data)
    for marker in segment.markers[1:]:
        damaged[marker : marker + MARKER_LENGTH] = bytes(MARKER_LENGTH)
    result = read(tmp_path, bytes(damaged), framing, 7, segment.section_ends[1])
    assert result.positions == (*segment.record_ends[0], *segment.record_ends[1])


def segment_of(sections: list[list[int]], framing: Framing, version: int) -> Written:
    numbers = count()
    payloads = [
        [payload(next(numbers), length, version) for length in section] for section in sections
    ]
    return write_segment(payloads, version=version, framing=framing)


def payload(number: int, length: int, version: int) -> bytes:
    """A mutation of one row in the form of a version (format notes §4.1, §4.2)."""
    written = update(TABLE_ID, insert(number, b"v" * length))
    if version < 9:
        return mutation(written)
    epoch = uvint(1)
    return b"\0" + mutation(written[:16] + epoch + written[16:])


def read(
    folder: Path,
    data: bytes,
    framing: Framing,
    version: int,
    named: int,
    position: int = 0,
    *,
    completed_at: int = 0,
) -> Result:
    """`named`: the largest position that an index named; `completed_at`: beside COMPLETED."""
    path = folder / f"CommitLog-{version}-1.log"
    overwrite(path, data)
    reader = commitlog.SegmentReader(str(path), position=position, keys=framing.keys)
    positions: list[int] = []
    ids: list[bytes] = []
    gaps: list[Range] = []
    while True:
        try:
            batch = reader.read(
                SCHEMA,
                FORMAT,
                complete=True,
                expected_end=named,
                completed_at=completed_at,
                max_events=3,
            )
        except commitlog.SegmentKeyError:
            return Result((), (), (Range(0, None),))
        gaps += (Range(gap.start, gap.end) for gap in batch.gaps)
        for _, _, _, headers, _ in batch.messages(0, len(batch)):
            values = dict(headers)
            positions.append(int(values["cdc.source"].split(b"/")[2]))
            ids.append(values["cdc.id"])
        if batch.stop == "end":
            return Result(tuple(positions), tuple(ids), tuple(gaps))


def ends_of(segment: Written) -> tuple[int, ...]:
    return tuple(end for ends in segment.record_ends for end in ends)


def require_all(
    segment: Written, whole: Result, result: Result, named: int, *, is_plain: bool
) -> None:
    """Each record up to `named` is delivered, or a gap reaches into it; none is invented.

    Behind a damaged block positions are not known: there a gap begins before the record's end.
    """
    assert set(result.ids) <= set(whole.ids)
    assert len(set(result.ids)) == len(result.ids)
    ids = iter(whole.ids)
    for section, marker in zip(segment.record_ends, starts(segment), strict=True):
        start = marker + MARKER_LENGTH
        for end in section:
            is_delivered = next(ids) in result.ids
            is_on_record = covers(result.gaps, start, end)
            if not is_plain:
                is_on_record = any(gap.start < end for gap in result.gaps)
            assert end > named or is_delivered or is_on_record
            start = end


def starts(segment: Written) -> list[int]:
    """Logical places of the markers."""
    return [segment.markers[0], *segment.section_ends[:-1]]


def covers(gaps: Sequence[Range], start: int, end: int) -> bool:
    return any(gap.start < end and (gap.end is None or gap.end > start) for gap in gaps)
