"""Directory rights of docs/explanation/security.md, with unprivileged users: the node writes, the
agent reads and moves, others have no access."""

import os
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.cdc_raw.observation import observe
from agent.transfer.transfer import ArchiveTransfer

NODE, AGENT, OTHER, GROUP = 20001, 20002, 20003, 20004
LOG, IDX = "CommitLog-7-1.log", "CommitLog-7-1_cdc.idx"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="acting as other users takes root")


@pytest.fixture
def place(reachable_folder: Path) -> Path:
    for directory, user, mode in (
        ("commitlog", NODE, 0o2750),
        ("cdc_raw", NODE, 0o2770),
        ("cdc_relocation", AGENT, 0o750),
    ):
        path = reachable_folder / directory
        path.mkdir()
        os.chown(path, user, GROUP)
        # After chown, which clears the setgid bit.
        path.chmod(mode)
    return reachable_folder


def act(user: int, group: int, action: Callable[[Path], None], folder: Path) -> None:
    """Run in a process of that user. The test's output contains its exceptions."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(group)
            os.setuid(user)
            action(folder)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def write_segment(folder: Path) -> None:
    os.umask(0o027)
    (folder / "commitlog" / LOG).write_text("segment")
    (folder / "cdc_raw" / LOG).hardlink_to(folder / "commitlog" / LOG)
    (folder / "cdc_raw" / IDX).write_text("7")


def take_segment(folder: Path) -> None:
    raw = folder / "cdc_raw"
    (seen,) = observe(raw).segments
    assert seen.idx.offset == 7
    assert (raw / LOG).read_text() == "segment"
    with pytest.raises(PermissionError):
        (folder / "commitlog" / LOG).write_text("")
    with pytest.raises(PermissionError):
        (folder / "commitlog" / LOG).unlink()
    ArchiveTransfer(folder / "cdc_relocation").transfer(raw / LOG, raw / IDX)


def look_around(folder: Path) -> None:
    for directory in ("commitlog", "cdc_raw", "cdc_relocation"):
        for access in (os.R_OK, os.W_OK, os.X_OK):
            assert not os.access(folder / directory, access), directory


def test_documented_directory_rights_are_sufficient_and_minimal(place: Path) -> None:
    act(NODE, NODE, write_segment, place)
    act(OTHER, OTHER, look_around, place)
    act(AGENT, GROUP, take_segment, place)
    assert list((place / "cdc_raw").iterdir()) == []
    assert (place / "cdc_relocation" / "archive" / LOG).read_text() == "segment"
    assert (place / "commitlog" / LOG).exists()
