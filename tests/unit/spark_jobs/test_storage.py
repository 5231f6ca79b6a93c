"""Small files after crashes: at each step the old or the new text remains."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.errors import CheckpointError
from spark_jobs.storage import OWNER_FILE, CheckpointOwner, Folder, acquire_checkpoint
from tests.support.agents.released_state import RELEASES, released_versions

NAME = "state.json"


class Crashing:
    """A file system that fails from a given change on."""

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
    """Write a text and crash after this number of changes. Returns whether the write completed
    first."""
    with monkeypatch.context() as patch:
        patch.setattr(folder, "_files", Crashing(folder._files, changes))
        try:
            folder.write_text(NAME, text)
        except KeyboardInterrupt:
            return False
    return True


def test_crash_leaves_old_or_new_text(
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
        # The next write crashes at each of its changes too.
        crash(folder, "new", changes % 3, monkeypatch)
        assert folder.read_text(NAME) in ("old", "new")
        folder.write_text(NAME, "last")
        assert folder.read_text(NAME) == "last"
        changes += 1
    assert changes > 2


def test_crash_before_first_text_leaves_no_file(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(spark, str(tmp_path / "new"))
    assert not crash(folder, "new", 1, monkeypatch)
    assert not folder.exists(NAME)
    folder.write_text(NAME, "new")
    assert folder.read_text(NAME) == "new"


JOB = CheckpointOwner("dedupe", "shop.orders", {"identity": "event", "sink": "delta"})
OTHERS = {
    "another job": (replace(JOB, job="reconcile"), "its job is `dedupe`, not `reconcile`"),
    "other topics": (replace(JOB, topics="a"), "its topics is `shop.orders`, not `a`"),
    "another option": (
        replace(JOB, fixed={"identity": "cell", "sink": "delta"}),
        "its `identity` is `event`, not `cell`",
    ),
    "an option less": (replace(JOB, fixed={"identity": "event"}), "its `sink` is `delta`, not ``"),
}


def test_job_resumes_from_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    first = acquire_checkpoint(spark, str(tmp_path / "c"), JOB)
    again = acquire_checkpoint(spark, (tmp_path / "c").as_uri(), JOB)
    assert first.is_new and not again.is_new
    assert first.id == again.id
    assert acquire_checkpoint(spark, str(tmp_path / "d"), JOB).id != first.id


@pytest.mark.parametrize("version", released_versions())
def test_job_resumes_from_checkpoint_of_every_release(
    spark: SparkSession, tmp_path: Path, version: str
) -> None:
    shutil.copyfile(RELEASES / version / "spark" / OWNER_FILE, tmp_path / OWNER_FILE)
    assert not acquire_checkpoint(spark, str(tmp_path), JOB).is_new


def test_checkpoint_rejects_another_job(spark: SparkSession, tmp_path: Path) -> None:
    acquire_checkpoint(spark, str(tmp_path), JOB)
    content = (tmp_path / OWNER_FILE).read_text()
    for owner, expected in OTHERS.values():
        with pytest.raises(CheckpointError, match="does not match this job") as raised:
            acquire_checkpoint(spark, str(tmp_path), owner)
        assert expected in str(raised.value)
    assert (tmp_path / OWNER_FILE).read_text() == content


def test_checkpoint_rejects_recreated_store(spark: SparkSession, tmp_path: Path) -> None:
    owner = replace(JOB, store_id="a")
    for _ in range(2):
        acquire_checkpoint(spark, str(tmp_path), owner)
    with pytest.raises(CheckpointError, match=r"store was removed.*start with a new checkpoint"):
        acquire_checkpoint(spark, str(tmp_path), replace(owner, store_id="b"))


def test_checkpoint_of_another_format_is_rejected(spark: SparkSession, tmp_path: Path) -> None:
    acquire_checkpoint(spark, str(tmp_path), JOB)
    file = tmp_path / OWNER_FILE
    file.write_text(file.read_text().replace('"format": 1', '"format": 2'))
    (tmp_path / f".{OWNER_FILE}.crc").unlink(missing_ok=True)
    with pytest.raises(CheckpointError, match="its format is 2, but this release writes 1"):
        acquire_checkpoint(spark, str(tmp_path), JOB)


def test_checkpoint_of_another_program_is_rejected(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text('{"id":"x"}')
    with pytest.raises(CheckpointError, match="written by another program"):
        acquire_checkpoint(spark, str(tmp_path), JOB)
