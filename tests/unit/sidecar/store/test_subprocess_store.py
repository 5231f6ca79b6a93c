"""A store in a separate process: the answers, and the end of the process."""

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.store.base import StoreError, StoreStoppedError
from sidecar.store.subprocess_store import SubprocessStore
from tests.support.servers.processes import wait_until
from tests.support.sinks.folder_store import BROKEN, FORBIDDEN, HANGING, REFUSED, FolderStore


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "stored"
    folder.mkdir()
    return folder


@pytest.fixture
def store(folder: Path) -> Iterator[SubprocessStore]:
    store = SubprocessStore(FolderStore(folder))
    yield store
    store.close()


def segment(tmp_path: Path, name: str = "CommitLog-7-1.log") -> Path:
    file = tmp_path / name
    file.write_bytes(b"a segment")
    return file


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def test_answers_of_the_store_are_returned(
    store: SubprocessStore, folder: Path, tmp_path: Path
) -> None:
    file = segment(tmp_path)
    assert store.address == "folder:stored"
    assert store.pid is None, "nothing is asked yet"
    assert [store.put(file), store.put(file)] == [True, False]
    assert store.names() == [file.name]
    back = tmp_path / "back"
    assert store.get(file.name, back)
    assert back.read_bytes() == b"a segment"
    assert not store.get("another", back)
    store.remove(file.name)
    assert list(folder.iterdir()) == []


def test_errors_of_the_store_are_raised(store: SubprocessStore, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"It refuses this one\.") as refused:
        store.put(segment(tmp_path, REFUSED))
    assert (refused.value.is_segment_specific, refused.value.is_forbidden) == (True, False)
    with pytest.raises(StoreError, match=r"It lets nobody in\.") as forbidden:
        store.put(segment(tmp_path, FORBIDDEN))
    assert (forbidden.value.is_segment_specific, forbidden.value.is_forbidden) == (False, True)
    with pytest.raises(FileNotFoundError) as missing:
        store.put(tmp_path / "missing")
    assert missing.value.filename == str(tmp_path / "missing")
    assert store.put(segment(tmp_path)), "the process is the same, and well"


def test_store_process_runs_at_lower_priority(store: SubprocessStore) -> None:
    store.names()
    assert store.pid is not None
    ours = os.getpriority(os.PRIO_PROCESS, 0)
    assert os.getpriority(os.PRIO_PROCESS, store.pid) == min(ours + 10, 19)


def test_killed_store_process_is_reported_and_restarted(
    store: SubprocessStore, tmp_path: Path
) -> None:
    store.names()
    first = store.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    with pytest.raises(
        StoreError, match=r"folder:stored ended by SIGKILL; the agent restarts it\."
    ):
        store.put(segment(tmp_path))
    assert not Path(f"/proc/{first}").exists(), "no zombie either"
    assert store.put(segment(tmp_path))
    assert store.pid != first


def test_store_exception_ends_only_the_store_process(
    store: SubprocessStore, tmp_path: Path
) -> None:
    with pytest.raises(StoreError, match="ended with exit code 1; the agent restarts it"):
        store.put(segment(tmp_path, BROKEN))
    assert store.put(segment(tmp_path))


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (None, r"cannot be started: No such file or directory\."),
        ("#!/bin/sh\nexit 3\n", "ended with exit code 3; the agent restarts it"),
    ],
    ids=["no program", "ends at once"],
)
def test_failed_start_of_the_store_process_is_reported(
    store: SubprocessStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: str | None,
    message: str,
) -> None:
    path = tmp_path / "python"
    if program is not None:
        path.write_text(program)
        path.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(path))
        with pytest.raises(StoreError, match=message):
            store.names()
    assert store.names() == []


def test_exhausted_descriptors_at_store_start_are_reported(
    store: SubprocessStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more() -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patch:
        patch.setattr("sidecar.store.subprocess_store.Pipe", no_more)
        with pytest.raises(StoreError, match=r"cannot be started: Too many open files\."):
            store.names()
    assert store.names() == []


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_store_process_ignores_group_signals(store: SubprocessStore, name: str) -> None:
    store.names()
    first = store.pid
    assert first is not None
    os.kill(first, signal.Signals[name])
    assert store.names() == []
    assert store.pid == first


def test_stop_abandons_hanging_and_later_calls(
    store: SubprocessStore, folder: Path, tmp_path: Path
) -> None:
    raised = list[BaseException]()

    def send() -> None:
        try:
            store.put(segment(tmp_path, HANGING))
        except StoreStoppedError as error:
            raised.append(error)

    thread = threading.Thread(target=send)
    thread.start()
    wait_until((folder / HANGING).exists, "the request to hang")
    pid = store.pid
    assert pid is not None
    store.stop()
    thread.join()
    assert len(raised) == 1
    assert not Path(f"/proc/{pid}").exists(), "no zombie either"
    with pytest.raises(StoreStoppedError):
        store.names()


def test_stop_before_first_request_starts_no_process(store: SubprocessStore) -> None:
    store.stop()
    with pytest.raises(StoreStoppedError):
        store.names()
    assert store.pid is None


_AGENT = """
import sys
from pathlib import Path
from sidecar.store.subprocess_store import SubprocessStore
from tests.support.sinks.folder_store import FolderStore

store = SubprocessStore(FolderStore(Path(sys.argv[1])))
store.names()
print(store.pid, flush=True)
store.put(Path(sys.argv[2]))
"""


def test_store_process_ends_with_killed_agent(folder: Path, tmp_path: Path) -> None:
    """The process also ends in the middle of a request."""
    words = [sys.executable, "-c", _AGENT, str(folder), str(segment(tmp_path, HANGING))]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as agent:
        assert agent.stdout is not None
        try:
            pid = int(agent.stdout.readline())
            wait_until((folder / HANGING).exists, "the request to hang")
            assert is_running(pid)
        finally:
            agent.kill()
    wait_until(lambda: not is_running(pid), "the end of the store's process")
