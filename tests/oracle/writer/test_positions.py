"""Every position is an exact resume point, in every framing (format notes §7.3, §8)."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import commitlog
from tests.oracle.writer import (
    FRAMINGS,
    MARKER_LENGTH,
    Framing,
    Written,
    insert,
    mutation,
    update,
    write_segment,
)
from tests.support.segments.segment_reading import dump, overwrite

NAME = "CommitLog-7-1.log"
TABLE_ID = UUID("5a1c395e-b41f-11e5-9f22-ba0be0483c18")
SCHEMA = commitlog.Schema.from_cql(
    f"CREATE TABLE k.t (p text, c int, v text, PRIMARY KEY (p, c)) WITH ID = {TABLE_ID}"
)
every_framing = pytest.mark.parametrize("framing", FRAMINGS, ids=lambda framing: framing.name)
few = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
records_by_section = st.lists(st.lists(st.integers(0, 400), max_size=4), min_size=1, max_size=5)
"""Lengths of values; a section without values is empty."""


def segment_of(lengths: list[list[int]], framing: Framing) -> Written:
    sections = [
        [mutation(update(TABLE_ID, insert(index, b"v" * length))) for index, length in enumerate(s)]
        for s in lengths
    ]
    return write_segment(sections, framing=framing)


def positions(lines: list[dict[str, Any]]) -> list[int]:
    return [line["pos"] for line in lines]


@every_framing
@few
@given(lengths=records_by_section)
def test_reading_from_a_boundary_yields_exactly_the_rest(
    framing: Framing, lengths: list[list[int]], tmp_path: Path
) -> None:
    """Boundaries are 0, the positions of markers and first records, and the ends of records."""
    segment = segment_of(lengths, framing)
    path = tmp_path / NAME
    path.write_bytes(segment.data)
    ends = [end for section in segment.record_ends for end in section]
    whole = dump(path, SCHEMA, keys=framing.keys)
    assert positions(whole.lines) == ends
    starts = [segment.markers[0], *segment.section_ends]
    places = {0, *ends, *starts, *(start + MARKER_LENGTH for start in starts[:-1])}
    for place in sorted(places):
        rest = dump(path, SCHEMA, position=place, keys=framing.keys)
        assert rest.gaps == []
        assert rest.lines == [line for line in whole.lines if line["pos"] > place]


@every_framing
@few
@given(lengths=records_by_section, data=st.data())
def test_live_segment_is_read_up_to_its_index(
    framing: Framing, lengths: list[list[int]], data: st.DataObject, tmp_path: Path
) -> None:
    """The index advances from section end to section end; the reader never passes it."""
    segment = segment_of(lengths, framing)
    path = tmp_path / NAME
    path.write_bytes(segment.data)
    reader = commitlog.SegmentReader(str(path), keys=framing.keys)
    steps = data.draw(st.lists(st.sampled_from(segment.section_ends)).map(sorted))
    given_lines = 0
    for limit in steps:
        while chunk := reader.dump(SCHEMA, limit=limit, complete=False):
            given_lines += len(chunk.splitlines())
        assert given_lines == sum(
            len(ends)
            for ends, end in zip(segment.record_ends, segment.section_ends, strict=True)
            if end <= limit
        )
    # COMPLETED with the physical length, less than the logical end of a compressed segment: the
    # reader ignores the number and reads the chain to its end.
    while chunk := reader.dump(SCHEMA, complete=True):
        given_lines += len(chunk.splitlines())
    assert given_lines == sum(len(ends) for ends in segment.record_ends)
    assert reader.gaps == []


@every_framing
def test_limit_inside_a_section_excludes_the_section(framing: Framing, tmp_path: Path) -> None:
    segment = segment_of([[10, 20], [30, 40, 50]], framing)
    path = tmp_path / NAME
    path.write_bytes(segment.data)
    for limit in range(segment.section_ends[0], segment.section_ends[1]):
        dumped = dump(path, SCHEMA, limit=limit, complete=False, keys=framing.keys)
        assert positions(dumped.lines) == list(segment.record_ends[0])
        assert dumped.gaps == []


@every_framing
def test_live_file_growing_by_bytes_yields_no_gap(framing: Framing, tmp_path: Path) -> None:
    """Without an index: incomplete data is not there yet, and not damaged."""
    segment = segment_of([[5, 300], [], [40]], framing)
    path = tmp_path / NAME
    ends = [end for section in segment.record_ends for end in section]
    path.write_bytes(segment.data[: segment.markers[0]])
    reader = commitlog.SegmentReader(str(path), keys=framing.keys)
    seen = 0
    for length in range(segment.markers[0], segment.chain_end + 1):
        overwrite(path, segment.data[:length])
        while chunk := reader.dump(SCHEMA, complete=False):
            seen += len(chunk.splitlines())
        closed = [end for end in segment.markers[1:] if end <= length]
        assert seen == sum(len(section) for section in segment.record_ends[: len(closed)]) or (
            length == segment.chain_end and seen == len(ends)
        )
    assert seen == len(ends)
    assert reader.gaps == []


@every_framing
def test_partly_written_marker_is_not_damage(framing: Framing, tmp_path: Path) -> None:
    """In a live file, a marker without one of its words is not there yet. In a final file, the
    reader ignores a missing checksum, because records and blocks have their own
    (CASSANDRA-16842)."""
    segment = segment_of([[5, 6], [7]], framing)
    path = tmp_path / NAME
    second = segment.markers[1]
    data = bytearray(segment.data)
    data[second + 4 : second + 8] = bytes(4)
    path.write_bytes(data)
    live = dump(path, SCHEMA, complete=False, keys=framing.keys)
    assert positions(live.lines) == list(segment.record_ends[0])
    assert live.gaps == []
    final = dump(path, SCHEMA, keys=framing.keys)
    assert positions(final.lines) == [end for ends in segment.record_ends for end in ends]
    assert final.gaps == []
