"""Segments whose end is missing, at every boundary and at random places."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import strategies as st

import commitlog
from tests.oracle.writer import FRAMINGS, MARKER_LENGTH, Framing, Written, insert, write_segment
from tests.oracle.writer.numbers import uvint
from tests.oracle.writer.statements import mutation, update
from tests.support.segments.segment_reading import FORMAT, overwrite

TABLE_ID = UUID("5a1c395e-b41f-11e5-9f22-ba0be0483c18")
SCHEMA = commitlog.Schema.from_cql(
    "CREATE TABLE k.t (p text, c int, v text, PRIMARY KEY (p, c)) "
    f"WITH cdc = true AND ID = {TABLE_ID}"
)


lengths = st.lists(st.lists(st.integers(0, 300), max_size=4), min_size=1, max_size=5)


def payload(number: int, length: int, version: int) -> bytes:
    """A mutation of one row in the form of a version (format notes §4.1, §4.2)."""
    written = update(TABLE_ID, insert(number, b"v" * length))
    if version < 9:
        return mutation(written)
    return b"\0" + mutation(written[:16] + uvint(1) + written[16:])


def ends_of(segment: Written) -> tuple[int, ...]:
    return tuple(end for ends in segment.record_ends for end in ends)


def starts(segment: Written) -> list[int]:
    """Logical places of the markers."""
    return [segment.markers[0], *segment.section_ends[:-1]]


VERSIONS = (6, 7, 8, 9)


every_framing = pytest.mark.parametrize("framing", FRAMINGS, ids=lambda framing: framing.name)


every_version = pytest.mark.parametrize("version", VERSIONS)


@dataclass(frozen=True)
class Range:
    """Logical positions; `end` None: to the end of the segment."""

    start: int
    end: int | None


@dataclass(frozen=True)
class Result:
    """Results of the reads of one segment."""

    positions: tuple[int, ...]
    """Ends of the records whose events were delivered. Behind a block whose stored length is
    damaged they are not those of the whole segment."""
    ids: tuple[bytes, ...]
    """Ids of these events; each record has one of its own."""
    gaps: tuple[Range, ...]
    """Ranges that are reported. A segment whose first encrypted bytes make no sense waits for
    another key as a whole, and is put on record when none comes."""


def segment_of(sections: list[list[int]], framing: Framing, version: int) -> Written:
    numbers = count()
    payloads = [
        [payload(next(numbers), length, version) for length in section] for section in sections
    ]
    return write_segment(payloads, version=version, framing=framing)


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


def covers(gaps: Sequence[Range], start: int, end: int) -> bool:
    return any(gap.start < end and (gap.end is None or gap.end > start) for gap in gaps)
