"""A log that ends before a position that an index named is a gap, in every framing and version.

The test cuts and zeroes segments at every section boundary and at random places, and holds that
the events that are delivered and the ranges on record are all of the log up to that position.
"""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.oracle.writer import FRAMINGS, MARKER_LENGTH, Framing
from tests.support.segments.missing_ends import (
    Range,
    ends_of,
    every_framing,
    every_version,
    lengths,
    read,
    require_all,
    segment_of,
)

few = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
"""Lengths of values; a section without any is an empty one."""


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
def test_cut_or_zeroed_ranges_are_delivered_or_recorded(
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
