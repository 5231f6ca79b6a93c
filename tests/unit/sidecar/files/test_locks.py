"""Locks that allow one instance per directory."""

import fcntl
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sidecar.errors import ConfigError, LockedError
from sidecar.files.locks import LOCK_FILE, DirectoryLock
from sidecar.files.regular import open_regular


def test_second_lock_is_rejected_until_first_is_released(tmp_path: Path) -> None:
    """The lock writes nothing into the directory."""
    second = DirectoryLock(tmp_path)
    with DirectoryLock(tmp_path), pytest.raises(LockedError, match=str(tmp_path)):
        assert list(tmp_path.iterdir()) == []
        second.acquire()
    with second:
        pass


PLAIN_LOCK = """
import fcntl, os, sys
os.setuid(int(sys.argv[2]))
descriptor = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(descriptor, int(sys.argv[3]))
print("held", flush=True)
sys.stdin.read()
"""
STRANGER = 4711


@contextmanager
def plain_lock(path: Path, uid: int, kind: int) -> Iterator[subprocess.Popen[str]]:
    """A process of a user locks a file or directory, as releases before 0.2.0 do."""
    command = [sys.executable, "-c", PLAIN_LOCK, str(path), str(uid), str(kind)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_lock_of_another_process_ends_with_the_process(tmp_path: Path) -> None:
    with plain_lock(tmp_path, os.geteuid(), fcntl.LOCK_EX) as process:
        # The kernel does not report the process on every file system.
        with pytest.raises(LockedError, match=f"the process {process.pid}|another process"):
            DirectoryLock(tmp_path).acquire()
        process.kill()
        process.wait()
        with DirectoryLock(tmp_path):
            pass


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="another user needs root")


@needs_root
@pytest.mark.parametrize("kind", [fcntl.LOCK_EX, fcntl.LOCK_SH])
def test_lock_of_another_user_does_not_stop_agent(
    reachable_folder: Path, kind: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Every user with read access can lock the directory. Two agents still exclude each other."""
    with plain_lock(reachable_folder, STRANGER, kind):
        second = DirectoryLock(reachable_folder, private=reachable_folder)
        with (
            DirectoryLock(reachable_folder, private=reachable_folder),
            pytest.raises(LockedError, match="locked by"),
        ):
            second.acquire()
        assert "which does not stop the agent" in caplog.text
        assert list(reachable_folder.iterdir()) == []


@pytest.mark.parametrize("kind", [fcntl.LOCK_EX, fcntl.LOCK_SH])
def test_directory_lock_of_older_release_is_respected(tmp_path: Path, kind: int) -> None:
    with plain_lock(tmp_path, os.geteuid(), kind), pytest.raises(LockedError, match="locked by"):
        DirectoryLock(tmp_path, private=tmp_path).acquire()
    holder = DirectoryLock(tmp_path, private=tmp_path)
    with holder, pytest.raises(LockedError):
        DirectoryLock(tmp_path).acquire()


def test_lock_file_is_private_to_the_user(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).touch(0o666)
    with DirectoryLock(tmp_path, private=tmp_path):
        found = (tmp_path / LOCK_FILE).stat()
        assert (found.st_mode & 0o777, found.st_uid) == (0o600, os.geteuid())
    assert list(tmp_path.iterdir()) == []


def plant(kind: str, path: Path, other: Path) -> None:
    other.touch(0o644)
    match kind:
        case "link":
            path.symlink_to(other)
        case "pipe":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "hard link":
            path.hardlink_to(other)
        case _:
            path.touch()
            os.chown(path, STRANGER, STRANGER)


KINDS = ["link", "pipe", "hard link", pytest.param("another user's", marks=needs_root)]


@pytest.mark.parametrize("kind", KINDS)
def test_planted_or_stale_lock_file_is_replaced(tmp_path: Path, kind: str) -> None:
    """A killed process of another user may leave such a file."""
    offsets, other = tmp_path / "offsets", tmp_path / "other"
    offsets.mkdir()
    plant(kind, offsets / LOCK_FILE, other)
    with DirectoryLock(offsets, private=offsets):
        found = (offsets / LOCK_FILE).lstat()
        assert (found.st_mode, found.st_uid) == (stat.S_IFREG | 0o600, os.geteuid())
        with pytest.raises(LockedError):
            DirectoryLock(offsets, private=offsets).acquire()
    assert other.stat().st_mode & 0o777 == 0o644


@needs_root
@pytest.mark.parametrize("kind", [*KINDS, "directory"])
def test_foreign_lock_file_with_foreign_lock_is_rejected(reachable_folder: Path, kind: str) -> None:
    """The file could belong to an agent of another user."""
    with TemporaryDirectory() as name, plain_lock(reachable_folder, STRANGER, fcntl.LOCK_EX):
        plant(kind, reachable_folder / LOCK_FILE, Path(name) / "other")
        with pytest.raises(ConfigError, match="If no agent runs, delete it"):
            DirectoryLock(reachable_folder, private=reachable_folder).acquire()
        assert os.path.lexists(reachable_folder / LOCK_FILE)


def test_directory_in_place_of_lock_file_is_rejected(tmp_path: Path) -> None:
    plant("directory", tmp_path / LOCK_FILE, tmp_path / "other")
    with pytest.raises(ConfigError, match="If no agent runs, delete it"):
        DirectoryLock(tmp_path, private=tmp_path).acquire()


def test_deleted_lock_file_is_recreated_before_locking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The holder deletes the file between opening and locking."""
    opened: list[Path] = []

    def open_late(path: Path, flags: int, mode: int) -> int:
        descriptor = open_regular(path, flags, mode)
        if not opened:
            path.unlink()
        opened.append(path)
        return descriptor

    monkeypatch.setattr("sidecar.files.locks.open_regular", open_late)
    with DirectoryLock(tmp_path, private=tmp_path):
        assert len(opened) == 2
        with pytest.raises(LockedError):
            DirectoryLock(tmp_path, private=tmp_path).acquire()


def test_directory_locks_are_acquired_all_or_none(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with DirectoryLock(second), pytest.raises(LockedError, match="second"):
        DirectoryLock(first, second).acquire()
    with DirectoryLock(first):
        pass


def test_directory_under_two_names_is_locked_once(tmp_path: Path) -> None:
    link = tmp_path / "link"
    real = tmp_path / "real"
    real.mkdir()
    link.symlink_to(real)
    with DirectoryLock(real, link, real):
        pass


def test_missing_lock_directory_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        DirectoryLock(tmp_path / "missing").acquire()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="Not a directory"):
        DirectoryLock(tmp_path / "file").acquire()
