import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from watchdog.observers.inotify_c import InotifyConstants, InotifyEvent, WatchDescriptor

from agent.cdc_raw import inotify
from agent.cdc_raw.inotify import OverflowObserver
from agent.cdc_raw.watcher import Watcher
from tests.support.servers.processes import DEADLINE_S

LOG, IDX = "CommitLog-7-1.log", "CommitLog-7-1_cdc.idx"


class Bell(threading.Event):
    """Event that a watcher sets."""

    @contextmanager
    def rings(self) -> Iterator[None]:
        """Assert that the block rings the bell."""
        self.clear()
        yield
        assert self.wait(DEADLINE_S)


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    (tmp_path / "cdc_raw").mkdir()
    return tmp_path / "cdc_raw"


@pytest.fixture
def bell() -> Bell:
    return Bell()


@pytest.fixture
def watcher(raw: Path, bell: Bell) -> Iterator[Watcher]:
    watcher = Watcher(raw, bell.set)
    yield watcher
    watcher.stop()


def test_watcher_rings_on_index_link_rename_and_removal(
    raw: Path, bell: Bell, watcher: Watcher, tmp_path: Path
) -> None:
    with bell.rings():
        # A scan is due once the watch is active.
        watcher.ensure()
    assert (watcher.is_active(), watcher.error) == (True, "")
    (tmp_path / "segment").write_bytes(b"x")
    with bell.rings():
        os.link(tmp_path / "segment", raw / LOG)
    with bell.rings():
        (raw / IDX).write_text("5")
    with bell.rings():
        (raw / LOG).unlink()
    with bell.rings():
        (tmp_path / "segment").rename(raw / "CommitLog-6-2.log")
    (raw / "copy").write_bytes(b"x")
    with bell.rings():
        (raw / "copy").rename(raw / "CommitLog-6-3.log")


def test_removal_by_the_agent_does_not_ring(raw: Path, bell: Bell, watcher: Watcher) -> None:
    """Each finished segment would cause a scan of all others."""
    for segment_id in (1, 2, 3):
        (raw / f"CommitLog-7-{segment_id}.log").write_text("x")
    with bell.rings():
        watcher.ensure()
    watcher.removing.add(LOG)
    with bell.rings():
        (raw / LOG).unlink()
        # Events arrive in order.
        assert not bell.is_set()
        (raw / "CommitLog-7-2.log").unlink()
    assert watcher.removing == set()


def test_reads_and_unrelated_files_do_not_ring(raw: Path, bell: Bell, watcher: Watcher) -> None:
    (raw / IDX).write_text("5")
    with bell.rings():
        watcher.ensure()
    with bell.rings():
        (raw / IDX).read_text()
        (raw / "unrelated").write_text("x")
        # Events arrive in order, so this ring proves that earlier events did not ring.
        assert not bell.is_set()
        (raw / "CommitLog-7-2_cdc.idx").write_text("5")


def test_late_or_recreated_directory_is_watched(tmp_path: Path, bell: Bell) -> None:
    """The same holds behind a symbolic link."""
    raw, link = tmp_path / "late", tmp_path / "link"
    link.symlink_to(raw)
    for directory in (raw, link):
        watcher = Watcher(directory, bell.set)
        watcher.ensure()
        assert not watcher.is_active()
        assert str(directory) in watcher.error
        for attempt in range(2):
            raw.mkdir()
            with bell.rings():
                watcher.ensure()
            assert watcher.is_active()
            with bell.rings():
                (raw / IDX).write_text("5")
            raw.rename(tmp_path / f"moved-{directory.name}-{attempt}")
            assert not watcher.is_active() or directory == link
        watcher.stop()


def test_missing_inotify_is_logged_once_and_retried(
    bell: Bell, watcher: Watcher, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("inotify watch limit reached")

    with monkeypatch.context() as patched:
        patched.setattr(inotify, "OverflowObserver", refuse)
        watcher.ensure()
        watcher.ensure()
        assert not watcher.is_active()
        assert "inotify watch limit reached" in watcher.error
        assert caplog.text.count("only periodically") == 1
    with bell.rings():
        watcher.ensure()
    assert watcher.is_active()


def test_inotify_overflow_rings_and_is_logged_once(
    raw: Path,
    bell: Bell,
    watcher: Watcher,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    made: list[OverflowObserver] = []

    class Observer(OverflowObserver):
        def __init__(self, on_overflow: Callable[[], None]) -> None:
            super().__init__(on_overflow)
            made.append(self)

    monkeypatch.setattr(inotify, "OverflowObserver", Observer)
    with bell.rings():
        watcher.ensure()
    # As the kernel reports it: without a watch and without a name.
    overflow = InotifyEvent(WatchDescriptor(-1), InotifyConstants.IN_Q_OVERFLOW, 0, b"")
    for _ in range(3):
        with bell.rings():
            made[0].inotify.handle_event(overflow)
    assert watcher.is_active()
    (message,) = [each for each in caplog.messages if "overflow" in each or "dropped" in each]
    assert str(raw) in message
    assert "fs.inotify.max_queued_events" in message
