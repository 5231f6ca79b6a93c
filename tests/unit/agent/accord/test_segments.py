"""Segments of the journal, and segments that the agent writes into `cdc_raw`."""

from pathlib import Path

import pytest

from agent.accord.segments import (
    JournalFiles,
    JournalSegment,
    RawSegments,
    is_own,
    observe_journal,
    parse_segment,
)
from agent.cdc_raw.names import SegmentName
from agent.cdc_raw.observation import observe

FIRST = JournalSegment(1795711176863, 1, 1, 1)
SECOND = JournalSegment(1795711176864, 1, 1, 1)


def test_journal_data_file_is_a_segment() -> None:
    assert parse_segment("log-1795711176863-1-1-1.data") == FIRST
    assert str(FIRST) == "log-1795711176863-1-1-1.data"
    assert FIRST.metadata == "log-1795711176863-1-1-1.meta"
    assert FIRST.is_supported
    assert not JournalSegment(1, 1, 1, 2).is_supported


@pytest.mark.parametrize(
    "name",
    ["log-1-1-1-1.meta", "log-1-1-1-1.data.tmp", "log-1-1-1.data", "started", "log-x-1-1-1.data"],
)
def test_other_files_are_not_segments(name: str) -> None:
    assert parse_segment(name) is None


def test_observation_contains_closed_segments_and_node_start(tmp_path: Path) -> None:
    for name in (str(SECOND), str(FIRST), FIRST.metadata, "log-1795711176863-1-1-1.indx"):
        (tmp_path / name).touch()
    (tmp_path / "started").write_text("1795711176865")
    files = observe_journal(tmp_path)
    assert files == JournalFiles((FIRST, SECOND), frozenset({FIRST}), 1795711176865)
    assert files.is_first_of_run(FIRST)
    assert not files.is_first_of_run(JournalSegment(1795711176866, 1, 1, 1))
    assert not JournalFiles().is_first_of_run(FIRST)


def test_missing_journal_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        observe_journal(tmp_path / "none")


def test_segment_ids_are_reserved_before_use(tmp_path: Path) -> None:
    reserved: list[int] = []
    raw = RawSegments(tmp_path, 5, reserved.append)
    names = [raw.take() for _ in range(1001)]
    assert (names[0], names[-1]) == (SegmentName(5, 9), SegmentName(1005, 9))
    assert (reserved, raw.reserved) == ([1005, 2005], 2005)
    assert is_own(names[-1])
    assert not is_own(SegmentName(1795711176863, 9))


def test_written_raw_segment_is_complete(tmp_path: Path) -> None:
    raw = RawSegments(tmp_path, 1, lambda _: None)
    raw.write(raw.take(), bytes(100))
    (seen,) = observe(tmp_path).segments
    assert seen.name == SegmentName(1, 9)
    assert seen.idx.completed
    assert seen.idx.synced_end(100) == 92
    assert observe(tmp_path).other_files == ()
