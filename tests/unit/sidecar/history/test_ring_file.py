"""The history on disk survives restarts, and disk errors do not reach the caller."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from sidecar.history.ring_file import FILE_NAME, Layout, RingFile, Values, encode_file

LAYOUT = Layout(("lag_s",), interval_s=60, slots=10)
NOW_S = 60_000


def ring(directory: Path, layout: Layout = LAYOUT) -> RingFile:
    made = RingFile(directory / FILE_NAME, layout)
    made.load()
    return made


def rows(found: RingFile, now_s: float = NOW_S) -> dict[int, Values]:
    return dict(found.rows(now_s))


def test_history_samples_survive_a_restart(tmp_path: Path) -> None:
    first = ring(tmp_path)
    for ago in (3, 2, 1):
        first.put(NOW_S - 60 * ago, (float(ago),))
    assert rows(ring(tmp_path)) == rows(first) == {59820: (3.0,), 59880: (2.0,), 59940: (1.0,)}


def test_history_file_has_fixed_size(tmp_path: Path) -> None:
    filled = ring(tmp_path)
    for number in range(35):
        filled.put(NOW_S + 60 * number, (1.0,))
        assert filled.path.stat().st_size == LAYOUT.file_bytes
    assert len(rows(ring(tmp_path), NOW_S + 60 * 34)) == 10
    assert [each.name for each in tmp_path.iterdir()] == [FILE_NAME]


def test_samples_outside_the_window_are_omitted(tmp_path: Path) -> None:
    found = ring(tmp_path)
    for time_s in (NOW_S - 540, NOW_S - 480, NOW_S, NOW_S + 120):
        found.put(time_s, (1.0,))
    assert list(rows(found)) == [NOW_S - 540, NOW_S]
    assert list(rows(found, NOW_S + 60)) == [NOW_S]
    assert list(rows(found, NOW_S + 120)) == [NOW_S, NOW_S + 120]


@pytest.mark.parametrize(
    "content",
    [b"", b"damage", b"\0" * 5000, bytes(range(256)) * 40, b"x" * (2 << 20)],
    ids=["empty", "text", "zeros", "noise", "too large"],
)
def test_damaged_history_file_is_replaced(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    found = ring(tmp_path)
    assert rows(found) == {}
    assert "the stored history is ignored" in caplog.text
    found.put(NOW_S, (1.0,))
    assert rows(ring(tmp_path)) == {NOW_S: (1.0,)}
    assert found.path.stat().st_size == LAYOUT.file_bytes


def test_truncated_history_file_retains_samples_and_regrows(tmp_path: Path) -> None:
    whole = encode_file(LAYOUT, {NOW_S: (5.0,)})
    end = LAYOUT.offset_of(NOW_S) + LAYOUT.slot_bytes
    (tmp_path / FILE_NAME).write_bytes(whole[:end])
    found = ring(tmp_path)
    found.put(NOW_S - 60, (6.0,))
    assert rows(ring(tmp_path)) == {NOW_S - 60: (6.0,), NOW_S: (5.0,)}
    assert found.path.stat().st_size == LAYOUT.file_bytes


def test_columns_of_another_release_are_dropped(tmp_path: Path) -> None:
    ring(tmp_path, Layout(("old", "lag_s"), interval_s=60, slots=10)).put(NOW_S, (1.0, 2.0))
    found = ring(tmp_path)
    found.put(NOW_S - 60, (3.0,))
    assert rows(ring(tmp_path)) == {NOW_S - 60: (3.0,), NOW_S: (2.0,)}


def test_disk_full_error_does_not_reach_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ring(tmp_path)
    found.put(NOW_S - 120, (1.0,))

    def full(*arguments: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        found.put(NOW_S - 60, (2.0,))
        patch.setattr("sidecar.history.ring_file.replace_synced", full)
        found.put(NOW_S, (3.0,))
        assert len(rows(found)) == 3
    assert len(rows(ring(tmp_path))) == 1
    found.put(NOW_S, (4.0,))
    assert rows(ring(tmp_path)) == {59880: (1.0,), 59940: (2.0,), 60000: (4.0,)}


def test_history_is_not_written_on_nearly_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=(8 << 20) - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda directory: usage)
    found = ring(tmp_path)
    found.put(NOW_S, (1.0,))
    assert rows(found) == {NOW_S: (1.0,)}
    assert list(tmp_path.iterdir()) == []


def test_failed_history_write_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, content: bytes) -> None:
        path.write_bytes(content[:100])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("sidecar.files.directories.write_synced", fail)
    ring(tmp_path).put(NOW_S, (1.0,))
    assert list(tmp_path.iterdir()) == []


def test_missing_history_directory_does_not_raise(tmp_path: Path) -> None:
    found = ring(tmp_path / "gone")
    found.put(NOW_S, (1.0,))
    assert rows(found) == {NOW_S: (1.0,)}
    (tmp_path / "gone").mkdir()
    found.put(NOW_S, (2.0,))
    assert rows(ring(tmp_path / "gone")) == {NOW_S: (2.0,)}


@pytest.mark.parametrize("change", ["deleted", "emptied", "linked"])
def test_externally_changed_history_file_is_rewritten(tmp_path: Path, change: str) -> None:
    found, target = ring(tmp_path), tmp_path / "other"
    target.write_text("precious")
    found.put(NOW_S - 120, (1.0,))
    found.path.unlink()
    if change == "emptied":
        found.path.touch()
    if change == "linked":
        found.path.symlink_to(target)
    for ago in (60, 0):
        found.put(NOW_S - ago, (2.0,))
    assert len(rows(ring(tmp_path))) == 3
    assert target.read_text() == "precious"
    assert not found.path.is_symlink()
