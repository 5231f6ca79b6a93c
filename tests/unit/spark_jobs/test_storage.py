"""Small files over crashes: at each step, the old or the new text remains."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.storage import Folder

NAME = "state.json"


class Crashing:
    """A file system that fails from one of its changes on."""

    def __init__(self, files: Any, changes: int) -> None:
        self._files = files
        self._left = changes

    def exists(self, path: Any) -> Any:
        return self._files.exists(path)

    def create(self, path: Any, overwrite: bool) -> Any:
        return self._change().create(path, overwrite)

    def delete(self, path: Any, recursive: bool) -> Any:
        return self._change().delete(path, recursive)

    def rename(self, path: Any, new_path: Any) -> Any:
        return self._change().rename(path, new_path)

    def _change(self) -> Any:
        if not self._left:
            raise KeyboardInterrupt
        self._left -= 1
        return self._files


def crash(folder: Folder, text: str, changes: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Write a text; crash after this number of changes. Returns whether the write ended first."""
    with monkeypatch.context() as patch:
        patch.setattr(folder, "_files", Crashing(folder._files, changes))
        try:
            folder.write_text(NAME, text)
        except KeyboardInterrupt:
            return False
    return True


def test_a_crash_leaves_the_old_or_the_new_text(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = 0
    while True:
        folder = Folder(spark, str(tmp_path / str(changes)))
        folder.write_text(NAME, "first")
        folder.write_text(NAME, "old")
        is_complete = crash(folder, "new", changes, monkeypatch)
        assert folder.exists(NAME)
        assert folder.read_text(NAME) == ("new" if is_complete else "old")
        if is_complete:
            break
        # The next write crashes in every way too.
        crash(folder, "new", changes % 3, monkeypatch)
        assert folder.read_text(NAME) in ("old", "new")
        folder.write_text(NAME, "last")
        assert folder.read_text(NAME) == "last"
        changes += 1
    assert changes > 2


def test_a_crash_before_the_first_text_leaves_no_file(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(spark, str(tmp_path / "new"))
    assert not crash(folder, "new", 1, monkeypatch)
    assert not folder.exists(NAME)
    folder.write_text(NAME, "new")
    assert folder.read_text(NAME) == "new"
