"""Finished segments that the agent cannot archive."""

import logging
from pathlib import Path

import pytest

from tests.support.pipeline.harness import PipelineHarness


class FullDisk:
    """The archive's disk, full until `is_full` is cleared."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = True
        really_replace = Path.replace

        def replace(path: Path, target: Path) -> Path:
            if self.is_full and target.parent.name == "archive":
                raise OSError(28, "No space left on device", str(path), None, str(target))
            return really_replace(path, target)

        monkeypatch.setattr(Path, "replace", replace)


def sentences(harness: PipelineHarness) -> int:
    return harness.leave_error.count(". ") + harness.leave_error.endswith(".")


def test_one_error_covers_all_unarchivable_segments(
    harness: PipelineHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Segments accumulate in cdc_raw while the archive is full, and leave once it has space."""
    caplog.set_level(logging.INFO)
    disk = FullDisk(monkeypatch)
    for number in range(1, 41):
        harness.raw.completed(number, 1)
    harness.settle()
    for _ in range(60):
        harness.pass_time(1)
    assert "CommitLog-7-1.log cannot leave" in harness.leave_error
    assert "archive/CommitLog-7-1.log: No space left" in harness.leave_error
    assert "40 finished segments" in harness.leave_error
    assert sentences(harness) == 2
    assert sum("cannot leave" in line for line in caplog.messages) == 1
    disk.is_full = False
    harness.pass_time(1)
    assert (harness.leave_error, len(harness.archived())) == ("", 80)
    assert sum("leave cdc_raw again" in line for line in caplog.messages) == 1


def test_archive_error_ends_when_node_deletes_segment(
    harness: PipelineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `cdc_block_writes: false` the node frees space itself. The restarted agent knows the
    segment only as finished."""
    disk = FullDisk(monkeypatch)
    log = harness.raw.completed(1, 2)
    harness.settle()
    harness.kill()
    harness.settle()
    assert "CommitLog-7-1.log cannot leave" in harness.leave_error
    harness.raw.drop(log)
    harness.settle()
    assert harness.leave_error == ""
    disk.is_full = False
    harness.raw.completed(2, 1)
    harness.settle()
    assert (harness.leave_error, harness.quarantined()) == ("", set())
