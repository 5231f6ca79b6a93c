"""Segments that the agent writes into `cdc_raw`."""

from pathlib import Path

from agent.accord.raw_segments import RawSegments, is_own
from agent.cdc_raw.names import SegmentName
from agent.cdc_raw.observation import observe


def test_ids_are_reserved_before_they_are_used(tmp_path: Path) -> None:
    reserved: list[int] = []
    raw = RawSegments(tmp_path, 5, reserved.append)
    names = [raw.take() for _ in range(1001)]
    assert (names[0], names[-1]) == (SegmentName(5, 9), SegmentName(1005, 9))
    assert (reserved, raw.reserved) == ([1005, 2005], 2005)
    assert is_own(names[-1])
    assert not is_own(SegmentName(1795711176863, 9))


def test_a_written_segment_is_complete(tmp_path: Path) -> None:
    raw = RawSegments(tmp_path, 1, lambda _: None)
    raw.write(raw.take(), bytes(100))
    (seen,) = observe(tmp_path).segments
    assert seen.name == SegmentName(1, 9)
    assert seen.idx.completed
    assert seen.idx.synced_end(100) == 92
    assert observe(tmp_path).other_files == ()
