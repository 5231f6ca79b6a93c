"""Names and states of the journal's segments."""

from pathlib import Path

import pytest

from agent.accord.journal_files import JournalFiles, JournalSegment, observe_journal, parse_segment

FIRST = JournalSegment(1795711176863, 1, 1, 1)
SECOND = JournalSegment(1795711176864, 1, 1, 1)


def test_a_data_file_is_a_segment() -> None:
    assert parse_segment("log-1795711176863-1-1-1.data") == FIRST
    assert str(FIRST) == "log-1795711176863-1-1-1.data"
    assert FIRST.metadata == "log-1795711176863-1-1-1.meta"
    assert FIRST.is_supported
    assert not JournalSegment(1, 1, 1, 2).is_supported


@pytest.mark.parametrize(
    "name",
    ["log-1-1-1-1.meta", "log-1-1-1-1.data.tmp", "log-1-1-1.data", "started", "log-x-1-1-1.data"],
)
def test_other_files_are_none(name: str) -> None:
    assert parse_segment(name) is None


def test_an_observation_has_the_closed_segments_and_the_start(tmp_path: Path) -> None:
    for name in (str(SECOND), str(FIRST), FIRST.metadata, "log-1795711176863-1-1-1.indx"):
        (tmp_path / name).touch()
    (tmp_path / "started").write_text("1795711176865")
    files = observe_journal(tmp_path)
    assert files == JournalFiles((FIRST, SECOND), frozenset({FIRST}), 1795711176865)
    assert files.is_first_of_run(FIRST)
    assert not files.is_first_of_run(JournalSegment(1795711176866, 1, 1, 1))
    assert not JournalFiles().is_first_of_run(FIRST)


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        observe_journal(tmp_path / "none")
