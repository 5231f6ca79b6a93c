import json
import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cdc_raw import observation as module
from agent.cdc_raw.idx import Idx, read_idx
from agent.cdc_raw.names import SegmentName
from agent.cdc_raw.observation import Observation, observe


def write(directory: Path, segment_id: int, idx: str | None = None, size_bytes: int = 10) -> None:
    name = SegmentName(id=segment_id, version=7)
    (directory / name.log).write_bytes(b"x" * size_bytes)
    if idx is not None:
        (directory / name.idx).write_text(idx)


def test_observation_lists_segments_oldest_first(tmp_path: Path) -> None:
    write(tmp_path, 1000, "5")
    write(tmp_path, 999, "1048576\nCOMPLETED", size_bytes=30)
    write(tmp_path, 1001)
    os.link(tmp_path / "CommitLog-7-1001.log", tmp_path / "elsewhere")
    (tmp_path / "CommitLog-7-998_cdc.idx").write_text("7")
    (tmp_path / "CommitLog-5.log").touch()
    seen = observe(tmp_path)
    assert [s.name.id for s in seen.segments] == [998, 999, 1000, 1001]
    assert [s.idx for s in seen.segments] == [
        Idx(offset=7),
        Idx(completed=True, completed_at=1048576),
        Idx(offset=5),
        Idx(),
    ]
    assert [s.log and s.log.link_count for s in seen.segments] == [None, 1, 1, 2]
    assert seen.size_bytes == 50
    assert seen.other_files == ("CommitLog-5.log", "elsewhere")
    assert seen.newest_log == SegmentName(id=1001, version=7)
    assert seen.newest_updated == SegmentName(id=1000, version=7)


def test_only_missing_directory_is_an_error(tmp_path: Path) -> None:
    assert observe(tmp_path) == Observation()
    with pytest.raises(FileNotFoundError):
        observe(tmp_path / "away")


def test_file_deleted_during_scan_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 1, "5")
    write(tmp_path, 2)
    with os.scandir(tmp_path) as entries:
        listed = list(entries)
    (tmp_path / "CommitLog-7-1.log").unlink()
    (tmp_path / "CommitLog-7-1_cdc.idx").unlink()
    monkeypatch.setattr(os, "scandir", lambda _: nullcontext(listed))
    assert [s.name.id for s in observe(tmp_path).segments] == [2]


def test_older_indexes_are_read_after_newer_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node updates older indexes while the scan reads a newer one."""
    write(tmp_path, 1, "5")
    write(tmp_path, 2)
    write(tmp_path, 3, "9")

    def read_late(path: Path) -> Idx:
        if path.name == "CommitLog-7-3_cdc.idx":
            (tmp_path / "CommitLog-7-1_cdc.idx").write_text("7\nCOMPLETED")
            (tmp_path / "CommitLog-7-2_cdc.idx").write_text("8\nCOMPLETED")
        return read_idx(path)

    monkeypatch.setattr(module, "read_idx", read_late)
    seen = observe(tmp_path)
    assert [s.idx for s in seen.segments] == [
        Idx(completed=True, completed_at=7),
        Idx(completed=True, completed_at=8),
        Idx(offset=9),
    ]


def test_completed_indexes_are_not_reread(tmp_path: Path) -> None:
    write(tmp_path, 1, "5")
    name = SegmentName(id=1, version=7)
    (seen,) = observe(tmp_path, {name}.__contains__).segments
    assert seen.idx == Idx(completed=True)
    (tmp_path / name.log).unlink()
    (seen,) = observe(tmp_path, {name}.__contains__).segments
    assert (seen.log, seen.idx) == (None, Idx(offset=5))


def test_only_regular_files_are_segments(tmp_path: Path) -> None:
    """Opening a pipe would block until a writer connects."""
    write(tmp_path, 1, "5")
    pipe, folder, loop = (SegmentName(id=number, version=7) for number in (2, 3, 4))
    os.mkfifo(tmp_path / pipe.log)
    (tmp_path / pipe.idx).write_text("5\nCOMPLETED")
    (tmp_path / folder.log).mkdir()
    (tmp_path / loop.log).symlink_to(loop.log)
    seen = observe(tmp_path)
    assert [(each.name.id, each.log is None) for each in seen.segments] == [(1, False), (2, True)]
    assert seen.other_files == (pipe.log, folder.log, loop.log)


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir])
def test_unreadable_index_is_reported(tmp_path: Path, make: Callable[[Path], None]) -> None:
    write(tmp_path, 1)
    make(tmp_path / "CommitLog-7-1_cdc.idx")
    (seen,) = observe(tmp_path).segments
    assert seen.idx == Idx(unreadable=seen.idx.unreadable)
    pipe = "it is not a regular file"
    assert seen.idx.unreadable == pipe if make is os.mkfifo else seen.idx.unreadable


def test_segment_absent_from_commit_log_is_released(
    tmp_path: Path,
) -> None:
    raw, commit_log, archive = (tmp_path / name for name in ("cdc_raw", "commitlog", "archive"))
    for directory in (raw, commit_log, archive):
        directory.mkdir()
    for number in (1, 2, 3):
        write(raw, number, "5")
        name = SegmentName(id=number, version=7).log
        (archive / name).hardlink_to(raw / name)
    (commit_log / "CommitLog-7-3.log").hardlink_to(raw / "CommitLog-7-3.log")
    # A different file with the same name is not the node's link.
    (commit_log / "CommitLog-7-2.log").write_bytes(b"")

    assert released(observe(raw, commit_log=commit_log)) == [True, True, False]
    assert released(observe(raw)) == [False, False, False]


def test_unrelated_commit_log_directory_releases_no_segment(tmp_path: Path) -> None:
    raw, other, archive = (tmp_path / name for name in ("cdc_raw", "other", "archive"))
    for directory in (raw, other, archive):
        directory.mkdir()
    for number in (1, 2):
        write(raw, number, "5")
        name = SegmentName(id=number, version=7).log
        (archive / name).hardlink_to(raw / name)

    assert released(observe(raw, commit_log=other)) == [False, False]
    assert released(observe(raw, commit_log=tmp_path / "absent")) == [False, False]


def released(observation: Observation) -> list[bool]:
    return [seen.log.is_released for seen in observation.segments if seen.log is not None]


def is_file_name(name: bytes) -> bool:
    return name not in (b".", b"..") and not {0, ord("/")} & set(name)


@given(st.binary(min_size=1, max_size=60).filter(is_file_name))
def test_any_file_name_is_printable_and_json_safe(name: bytes) -> None:
    with TemporaryDirectory() as folder:
        Path(folder, os.fsdecode(name)).touch()
        (shown,) = observe(Path(folder)).other_files
    assert json.loads(json.dumps(shown, ensure_ascii=False).encode()) == shown
    assert shown.isprintable()
