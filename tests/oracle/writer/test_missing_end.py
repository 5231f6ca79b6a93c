"""A log that ends before a position in its index is a gap, in every framing and version.

The tests cut and zero segments at every section boundary and at random places. Delivered events and
recorded ranges together must cover the log up to that position.

For a segment that the node replayed, the number beside COMPLETED is the length of its file. Files
of blocks end with their chain, so a cut or zeroed part is a gap even without a logical position. A
plain file is longer than its chain.
"""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.oracle.writer import FRAMINGS, MARKER_LENGTH, Framing, Written
from tests.support.segments.missing_ends import (
    VERSIONS,
    Range,
    ends_of,
    every_framing,
    every_version,
    lengths,
    read,
    require_all,
    segment_of,
)

PLAIN = FRAMINGS[0]
BLOCKS = [framing for framing in FRAMINGS if framing.parameters != b"{}"]
ENCRYPTED = [framing for framing in BLOCKS if framing.keys]
every_block_framing = pytest.mark.parametrize("framing", BLOCKS, ids=lambda each: each.name)
every_cipher = pytest.mark.parametrize("framing", ENCRYPTED, ids=lambda each: each.name)
each_count = pytest.mark.parametrize(
    "examples", [200, pytest.param(1200, marks=pytest.mark.slow)], ids=["few", "many"]
)
versions = st.sampled_from(VERSIONS)


def few(examples: int) -> settings:
    return settings(
        max_examples=examples, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )


def zeroed(segment: Written, start: int, stop: int) -> bytes:
    return segment.data[:start] + bytes(stop - start) + segment.data[stop:]


def require_record(
    folder: Path, segment: Written, damaged: bytes, framing: Framing, version: int
) -> None:
    """For a replayed segment."""
    number = len(segment.data)
    whole = read(folder, segment.data, framing, version, 0)
    result = read(folder, damaged, framing, version, 0, completed_at=number)
    require_all(segment, whole, result, segment.section_ends[-1], is_plain=False)


@each_count
def test_complete_segment_has_no_gap(examples: int, tmp_path: Path) -> None:
    """With a position in the index, with the number of a replay, and with that of a node that
    closed the segment."""

    @few(examples)
    @given(st.sampled_from(FRAMINGS), versions, lengths)
    def check(framing: Framing, version: int, sections: list[list[int]]) -> None:
        segment = segment_of(sections, framing, version)
        last = segment.section_ends[-1]
        for named, number in (
            *((end, 0) for end in segment.section_ends),
            *((0, number) for number in (len(segment.data), last)),
        ):
            result = read(tmp_path, segment.data, framing, version, named, completed_at=number)
            assert result.gaps == ()
            assert result.positions == ends_of(segment)

    check()


@each_count
def test_cut_or_zeroed_ranges_are_delivered_or_recorded(examples: int, tmp_path: Path) -> None:
    @few(examples)
    @given(st.sampled_from(FRAMINGS), versions, lengths, st.data())
    def check(
        framing: Framing, version: int, sections: list[list[int]], data: st.DataObject
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
        damaged = segment.data[:start] if damage == "cut" else zeroed(segment, start, stop)
        whole = read(tmp_path, segment.data, framing, version, 0)
        result = read(tmp_path, damaged, framing, version, named)
        note(str(result))
        require_all(segment, whole, result, named, is_plain=framing in FRAMINGS[:2])
        # If the node had closed the segment there, bytes and index would be the same.
        is_closed = damage == "cut" and len(segment.data) in segment.section_ends
        is_to_the_end = start < segment.chain_end and stop == len(segment.data)
        if framing in BLOCKS and is_to_the_end and not is_closed:
            require_record(tmp_path, segment, damaged, framing, version)

    check()


@every_version
@every_framing
def test_missing_sections_are_a_gap(framing: Framing, version: int, tmp_path: Path) -> None:
    segment = segment_of([[5, 300], [], [40, 1], [7]], framing, version)
    named = segment.section_ends[-1]
    whole = read(tmp_path, segment.data, framing, version, 0)
    for number, boundary in enumerate(segment.markers):
        for damaged in (segment.data[:boundary], zeroed(segment, boundary, len(segment.data))):
            result = read(tmp_path, damaged, framing, version, named)
            before = tuple(end for ends in segment.record_ends[:number] for end in ends)
            assert result.positions == before
            assert result.gaps, (number, boundary)
            require_all(segment, whole, result, named, is_plain=framing in FRAMINGS[:2])
            if framing in BLOCKS:
                require_record(tmp_path, segment, damaged, framing, version)


@every_block_framing
def test_missing_end_of_a_replayed_segment_is_recorded(framing: Framing, tmp_path: Path) -> None:
    segment = segment_of([[5], [40, 1], [7]], framing, 7)
    for start in range(segment.markers[0], segment.chain_end):
        for damaged in (segment.data[:start], zeroed(segment, start, len(segment.data))):
            require_record(tmp_path, segment, damaged, framing, 7)


@every_version
@pytest.mark.parametrize("framing", FRAMINGS[:2], ids=lambda framing: framing.name)
def test_records_after_a_zeroed_marker_are_delivered(
    framing: Framing, version: int, tmp_path: Path
) -> None:
    segment = segment_of([[5], [40, 1], [7]], framing, version)
    for marker in segment.markers:
        damaged = zeroed(segment, marker, marker + MARKER_LENGTH)
        result = read(tmp_path, damaged, framing, version, segment.section_ends[-1])
        assert result.positions == ends_of(segment)
        assert result.gaps == (Range(marker, marker + MARKER_LENGTH),)


@every_framing
def test_restarted_reader_reports_the_same_gap(framing: Framing, tmp_path: Path) -> None:
    """A process that was killed starts at the acknowledged position."""
    segment = segment_of([[5], [40], [7]], framing, 7)
    damaged = segment.data[: segment.markers[2]]
    end, named = segment.section_ends[1], segment.section_ends[2]
    first = read(tmp_path, damaged, framing, 7, named)
    again = read(tmp_path, damaged, framing, 7, named, position=end)
    assert again.positions == ()
    assert again.gaps == first.gaps


def test_unmarked_records_beyond_the_index_are_not_read(
    tmp_path: Path,
) -> None:
    """Whole records after the last synced position are writes that a killed node forgets."""
    segment = segment_of([[5], [40], [7]], PLAIN, 7)
    damaged = bytearray(segment.data)
    for marker in segment.markers[1:]:
        damaged[marker : marker + MARKER_LENGTH] = bytes(MARKER_LENGTH)
    result = read(tmp_path, bytes(damaged), PLAIN, 7, segment.section_ends[1])
    assert result.positions == (*segment.record_ends[0], *segment.record_ends[1])


@every_version
@every_cipher
def test_hole_before_last_encrypted_section_is_no_gap(
    framing: Framing, version: int, tmp_path: Path
) -> None:
    """The node stores encrypted chunks before their marker. A hole before the last section is an
    interrupted sync, which the node forgets in a replay."""
    segment = segment_of([[5], [40], [7, 300]], framing, version)
    for number, gaps in ((2, ()), (1, (Range(segment.section_ends[0], None),))):
        hole = segment.markers[number]
        data = zeroed(segment, hole, hole + MARKER_LENGTH + 4)
        result = read(tmp_path, data, framing, version, 0, completed_at=len(data))
        assert result.gaps == gaps
        assert result.positions == ends_of(segment)[:number]


@every_version
def test_hole_before_markers_of_plain_segment_is_a_gap(version: int, tmp_path: Path) -> None:
    """The length of the file does not define the chain; markers after the hole do."""
    segment = segment_of([[5], [40], [7]], PLAIN, version)
    hole = segment.markers[1]
    data = zeroed(segment, hole, hole + MARKER_LENGTH)
    result = read(tmp_path, data, PLAIN, version, 0, completed_at=len(data))
    assert result.positions == ends_of(segment)[:1]
    assert result.gaps == (Range(hole, None),)
