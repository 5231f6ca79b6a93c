"""Segments that are done and cannot leave."""

import logging
from pathlib import Path

import pytest

from agent.pipeline import View
from tests.support.pipeline_harness import Rig


class FullDisk:
    """The archive's disk, until there is room."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = True
        really_replace = Path.replace

        def replace(path: Path, target: Path) -> Path:
            if self.is_full and target.parent.name == "archive":
                raise OSError(28, "No space left on device", str(path), None, str(target))
            return really_replace(path, target)

        monkeypatch.setattr(Path, "replace", replace)


def sentences(view: View) -> int:
    return view.leave_error.count(". ") + view.leave_error.endswith(".")


def test_one_sentence_stands_for_all_that_cannot_be_archived(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The archive is full for an hour, and segments gather in cdc_raw; then there is room."""
    caplog.set_level(logging.INFO)
    disk = FullDisk(monkeypatch)
    for number in range(1, 41):
        rig.raw.completed(number, 1)
    rig.settle()
    for _ in range(60):
        rig.pass_time(1)
    assert "CommitLog-7-1.log cannot leave" in rig.view.leave_error
    assert "archive/CommitLog-7-1.log: No space left" in rig.view.leave_error
    assert "40 finished segments" in rig.view.leave_error
    assert sentences(rig.view) == 2
    assert sum("cannot leave" in line for line in caplog.messages) == 1
    disk.is_full = False
    rig.pass_time(1)
    assert rig.view.leave_error == ""
    assert len(rig.archived()) == 80
    assert sum("leave cdc_raw again" in line for line in caplog.messages) == 1


def test_a_segment_that_the_node_deletes_troubles_no_more(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `cdc_block_writes: false` the node makes room itself. The agent was restarted in
    between, so it knows the segment only as finished."""
    disk = FullDisk(monkeypatch)
    log = rig.raw.completed(1, 2)
    rig.settle()
    rig.kill()
    rig.settle()
    assert "CommitLog-7-1.log cannot leave" in rig.view.leave_error
    rig.raw.drop(log)
    rig.settle()
    assert rig.view.leave_error == ""
    disk.is_full = False
    rig.raw.completed(2, 1)
    rig.settle()
    assert rig.view.leave_error == ""
    assert rig.quarantined() == set()
