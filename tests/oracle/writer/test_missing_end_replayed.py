"""The number beside COMPLETED of a segment that the node replayed is the length of its file.

Blocks leave no room behind them, so such a file of blocks is all chain: what is cut or zeroed is a
gap although no logical position is known. A plain file is longer than its chain.
"""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.oracle.writer import FRAMINGS, MARKER_LENGTH, Framing, Written
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

PLAIN = FRAMINGS[0]
BLOCKS = [framing for framing in FRAMINGS if framing.parameters != b"{}"]
ENCRYPTED = [framing for framing in BLOCKS if framing.keys]
every_block_framing = pytest.mark.parametrize("framing", BLOCKS, ids=lambda each: each.name)
few = settings(
    max_examples=25,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@every_version
@every_framing
@few
@given(sections=lengths)
def test_a_whole_segment_has_no_gap(
    framing: Framing, version: int, sections: list[list[int]], tmp_path: Path
) -> None:
    """With the number of a replay, and with that of a node that closed it."""
    segment = segment_of(sections, framing, version)
    for number in (len(segment.data), segment.section_ends[-1]):
        result = read(tmp_path, segment.data, framing, version, 0, completed_at=number)
        assert result.gaps == ()
        assert result.positions == ends_of(segment)


@every_version
@every_block_framing
@few
@given(sections=lengths, data=st.data())
def test_cut_or_zeroed_ranges_are_delivered_or_recorded(
    framing: Framing, version: int, sections: list[list[int]], data: st.DataObject, tmp_path: Path
) -> None:
    segment = segment_of(sections, framing, version)
    boundaries = st.sampled_from(segment.markers)
    anywhere = st.integers(segment.markers[0], segment.chain_end - 1)
    start = data.draw(boundaries | anywhere, "start")
    is_cut = data.draw(st.booleans(), "is cut")
    # A segment that the node closed there would have the same bytes and the same index.
    assume(not is_cut or len(segment.data) not in segment.section_ends)
    rest = b"" if is_cut else bytes(len(segment.data) - start)
    require_record(tmp_path, segment, segment.data[:start] + rest, framing, version)


@every_version
@every_block_framing
def test_each_section_boundary(framing: Framing, version: int, tmp_path: Path) -> None:
    segment = segment_of([[5, 300], [], [40, 1], [7]], framing, version)
    for boundary in segment.markers:
        for rest in (b"", bytes(len(segment.data) - boundary)):
            require_record(tmp_path, segment, segment.data[:boundary] + rest, framing, version)


@every_block_framing
def test_each_byte(framing: Framing, tmp_path: Path) -> None:
    segment = segment_of([[5], [40, 1], [7]], framing, 7)
    for start in range(segment.markers[0], segment.chain_end):
        for rest in (b"", bytes(len(segment.data) - start)):
            require_record(tmp_path, segment, segment.data[:start] + rest, framing, 7)


@every_version
@pytest.mark.parametrize("framing", ENCRYPTED, ids=lambda each: each.name)
def test_a_sync_that_a_kill_interrupted_is_no_gap(
    framing: Framing, version: int, tmp_path: Path
) -> None:
    """The node stores encrypted chunks before their marker, and forgets them in a replay."""
    segment = segment_of([[5], [40], [7, 300]], framing, version)
    hole = segment.markers[-1]
    data = bytearray(segment.data)
    data[hole : hole + MARKER_LENGTH + 4] = bytes(MARKER_LENGTH + 4)
    result = read(tmp_path, bytes(data), framing, version, 0, completed_at=len(data))
    assert result.gaps == ()
    assert result.positions == ends_of(segment)[:2]


@every_version
@pytest.mark.parametrize("framing", ENCRYPTED, ids=lambda each: each.name)
def test_a_hole_before_sections_that_were_synced_is_a_gap(
    framing: Framing, version: int, tmp_path: Path
) -> None:
    segment = segment_of([[5], [40], [7, 300]], framing, version)
    hole = segment.markers[1]
    data = bytearray(segment.data)
    data[hole : hole + MARKER_LENGTH + 4] = bytes(MARKER_LENGTH + 4)
    result = read(tmp_path, bytes(data), framing, version, 0, completed_at=len(data))
    assert result.positions == ends_of(segment)[:1]
    assert result.gaps == (Range(segment.section_ends[0], None),)


@every_version
def test_a_hole_before_the_markers_of_a_plain_segment_is_a_gap(
    version: int, tmp_path: Path
) -> None:
    """The length of the file says nothing of the chain; markers behind the hole do."""
    segment = segment_of([[5], [40], [7]], PLAIN, version)
    hole = segment.markers[1]
    data = bytearray(segment.data)
    data[hole : hole + MARKER_LENGTH] = bytes(MARKER_LENGTH)
    result = read(tmp_path, bytes(data), PLAIN, version, 0, completed_at=len(data))
    assert result.positions == ends_of(segment)[:1]
    assert result.gaps == (Range(hole, None),)


def require_record(
    folder: Path, segment: Written, damaged: bytes, framing: Framing, version: int
) -> None:
    number = len(segment.data)
    whole = read(folder, segment.data, framing, version, 0)
    result = read(folder, damaged, framing, version, 0, completed_at=number)
    require_all(segment, whole, result, segment.section_ends[-1], is_plain=False)
