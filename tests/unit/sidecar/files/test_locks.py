"""One instance a directory."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sidecar.errors import ConfigError, LockedError
from sidecar.files.locks import DirectoryLock

HOLDER = """
import sys
from pathlib import Path
from sidecar.files.locks import DirectoryLock
with DirectoryLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_nothing_is_written_into_the_directory(tmp_path: Path) -> None:
    with DirectoryLock(tmp_path):
        assert list(tmp_path.iterdir()) == []


def test_a_second_lock_is_rejected_until_the_first_is_gone(tmp_path: Path) -> None:
    second = DirectoryLock(tmp_path)
    with DirectoryLock(tmp_path), pytest.raises(LockedError, match=str(tmp_path)):
        second.acquire()
    with second:
        pass


def test_another_process_is_named_and_its_death_frees_the_lock(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(LockedError) as caught:
            DirectoryLock(tmp_path).acquire()
        # The kernel does not tell the process on every file system.
        assert f"the process {process.pid}" in str(caught.value) or "another process" in str(
            caught.value
        )
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with DirectoryLock(tmp_path):
        pass


def test_all_or_none(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with DirectoryLock(second), pytest.raises(LockedError, match="second"):
        DirectoryLock(first, second).acquire()
    with DirectoryLock(first):
        pass


def test_one_directory_under_two_names_counts_once(tmp_path: Path) -> None:
    link = tmp_path / "link"
    real = tmp_path / "real"
    real.mkdir()
    link.symlink_to(real)
    with DirectoryLock(real, link, real):
        pass


def test_a_missing_directory_is_a_mistake_in_the_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        DirectoryLock(tmp_path / "missing").acquire()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="Not a directory"):
        DirectoryLock(tmp_path / "file").acquire()
