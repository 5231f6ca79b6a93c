"""The pipeline over truncated or zeroed segments deletes none of them. Delivered events and
recorded ranges together cover the log up to the largest index position."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from agent.cdc_raw.names import SegmentName
from agent.keystore.source import KeySource, Keystore
from agent.pipeline.reader import open_with
from commitlog import EventFormat
from tests.oracle.writer import MARKER_LENGTH, Framing, Written, write_segment
from tests.support.pipeline.harness import PipelineHarness
from tests.support.segments.missing_ends import (
    SCHEMA,
    ends_of,
    every_framing,
    lengths,
    segment_of,
    starts,
)

pytestmark = pytest.mark.heavy

FORMAT = EventFormat(topic_prefix="demo", cluster="lab", node_id="node-1", all_tables=True)
LIVES = ("closed", "released", "replayed")
versions = st.sampled_from((7, 8, 9))
few = settings(max_examples=15)


class Keys(KeySource):
    """Keys of a framing, without a keystore file."""

    def __init__(self, framing: Framing) -> None:
        super().__init__(None)
        self._keys = framing.keys

    def keystore(self) -> Keystore:
        return replace(super().keystore(), keys=self._keys)


@dataclass(frozen=True)
class Seen:
    """Outcome of a segment: ends of delivered records, recorded ranges, whether it was kept."""

    positions: tuple[int, ...]
    ranges: tuple[tuple[int, int | None], ...]
    is_kept: bool
    is_removed: bool


@every_framing
@few
@given(version=versions, sections=lengths, life=st.sampled_from(LIVES))
def test_intact_segment_is_delivered_and_removed(
    framing: Framing, version: int, sections: list[list[int]], life: str
) -> None:
    segment = segment_of(sections, framing, version)
    seen = live(segment, segment.data, framing, version, life)
    assert seen == Seen(ends_of(segment), (), is_kept=False, is_removed=True)


@every_framing
@few
@given(version=versions, sections=lengths, life=st.sampled_from(LIVES), data=st.data())
def test_missing_range_is_recorded_and_the_segment_is_quarantined(
    framing: Framing, version: int, sections: list[list[int]], life: str, data: st.DataObject
) -> None:
    segment = segment_of(sections, framing, version)
    boundaries = st.sampled_from(segment.markers)
    start = data.draw(boundaries | st.integers(segment.markers[0], segment.chain_end - 1), "start")
    rest = b"" if data.draw(st.booleans(), "is cut") else bytes(len(segment.data) - start)
    damaged = segment.data[:start] + rest
    seen = live(segment, damaged, framing, version, life)
    note(str(seen))
    if damaged == segment.data:
        return
    assert set(seen.positions) <= set(ends_of(segment))
    assert len(set(seen.positions)) == len(seen.positions)
    assert seen.is_kept or not missing(segment, seen.positions)
    first = min((low for low, _ in seen.ranges), default=None)
    for begin, end in missing(segment, seen.positions):
        assert first is not None
        is_on_record = any(
            low < end and (high is None or high > begin) for low, high in seen.ranges
        )
        # After a damaged block, logical positions are unknown.
        assert is_on_record or (framing.parameters != b"{}" and first < end)


def missing(segment: Written, positions: tuple[int, ...]) -> list[tuple[int, int]]:
    """Starts and ends of the undelivered records."""
    found = []
    for ends, marker in zip(segment.record_ends, starts(segment), strict=True):
        start = marker + MARKER_LENGTH
        for end in ends:
            if end not in positions:
                found.append((start, end))
            start = end
    return found


def live(segment: Written, data: bytes, framing: Framing, version: int, life: str) -> Seen:
    """Run the agent over a segment with these bytes until it is idle."""
    name, newer = SegmentName(1, version), SegmentName(2, version)
    with tempfile.TemporaryDirectory() as folder:
        harness = PipelineHarness(
            Path(folder),
            open_reader=open_with(FORMAT, keystore=Keys(framing)),
            schema=SCHEMA,
            quarantine_max_bytes=100_000_000,
        )
        try:
            raw = harness.raw.directory
            raw.joinpath(name.log).write_bytes(data)
            index = raw.joinpath(name.idx)
            named = str(segment.section_ends[-1])
            index.write_text(f"{named}\nCOMPLETED" if life == "closed" else named)
            harness.settle()
            if life == "replayed":
                # A replay writes the file's length to the index.
                index.write_text(f"{len(data)}\nCOMPLETED")
            if life == "released":
                other = write_segment([], version=version, segment_id=2)
                raw.joinpath(newer.log).write_bytes(other.data)
            harness.settle()
            # A wrong key blocks the segment until the timeout.
            harness.pass_time(61)
            reason = harness.quarantine.reason(name)
            ranges = () if reason is None else reason.ranges
            return Seen(
                tuple(position_of(message) for _, message in harness.sink.messages),
                tuple((each.start, each.end) for each in ranges),
                is_kept=name.log in harness.quarantined(),
                is_removed=name.log not in harness.raw.names() | harness.quarantined(),
            )
        finally:
            harness.end()


def position_of(message: object) -> int:
    headers = dict(message[3])  # type: ignore[index]
    return int(headers["cdc.source"].split(b"/")[2])
