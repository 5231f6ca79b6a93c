import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from watchdog.observers.inotify_c import InotifyConstants, InotifyEvent, WatchDescriptor

from agent.cdc_raw import inotify
from agent.cdc_raw.inotify import OverflowObserver
from agent.cdc_raw.watcher import Watcher
from tests.support.servers.processes import DEADLINE_S


class Bell:
    """Counts wake-ups and lets a test wait for the next one."""

    def __init__(self) -> None:
        self.rung = threading.Event()

    def ring(self) -> None:
        self.rung.set()

    def quiet(self) -> None:
        self.rung.clear()

    def wait(self) -> bool:
        return self.rung.wait(DEADLINE_S)


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    (tmp_path / "cdc_raw").mkdir()
    return tmp_path / "cdc_raw"


@pytest.fixture
def bell() -> Bell:
    return Bell()


@pytest.fixture
def watcher(raw: Path, bell: Bell) -> Iterator[Watcher]:
    watcher = Watcher(raw, bell.ring)
    yield watcher
    watcher.stop()


def test_rings_when_an_index_is_written_a_link_made_and_a_file_removed(
    raw: Path, bell: Bell, watcher: Watcher, tmp_path: Path
) -> None:
    watcher.ensure()
    assert bell.wait(), "a look is due once the watch stands"
    assert watcher.is_active()
    assert watcher.error == ""

    bell.quiet()
    (tmp_path / "segment").write_bytes(b"x")
    os.link(tmp_path / "segment", raw / "CommitLog-7-1.log")
    assert bell.wait()

    bell.quiet()
    (raw / "CommitLog-7-1_cdc.idx").write_text("5")
    assert bell.wait()

    bell.quiet()
    (raw / "CommitLog-7-1.log").unlink()
    assert bell.wait()

    bell.quiet()
    (tmp_path / "segment").rename(raw / "CommitLog-6-2.log")
    assert bell.wait()

    (raw / "copy").write_bytes(b"x")
    bell.quiet()
    (raw / "copy").rename(raw / "CommitLog-6-3.log")
    assert bell.wait()


def test_what_the_agent_removes_itself_does_not_ring(
    raw: Path, bell: Bell, watcher: Watcher
) -> None:
    """Each finished segment would cause a scan of all others."""
    for segment_id in (1, 2, 3):
        (raw / f"CommitLog-7-{segment_id}.log").write_text("x")
    watcher.ensure()
    assert bell.wait()
    bell.quiet()
    watcher.removing.add("CommitLog-7-1.log")
    (raw / "CommitLog-7-1.log").unlink()
    # Events come in order.
    assert not bell.rung.is_set()
    (raw / "CommitLog-7-2.log").unlink()
    assert bell.wait()
    assert watcher.removing == set()


def test_looking_does_not_ring(raw: Path, bell: Bell, watcher: Watcher) -> None:
    (raw / "CommitLog-7-1_cdc.idx").write_text("5")
    watcher.ensure()
    assert bell.wait()
    bell.quiet()
    (raw / "CommitLog-7-1_cdc.idx").read_text()
    (raw / "unrelated").write_text("x")
    # Events come in order, so the next one that rings shows that those before it did not.
    assert not bell.rung.is_set()
    (raw / "CommitLog-7-2_cdc.idx").write_text("5")
    assert bell.wait()


def test_a_directory_that_comes_late_or_again_is_watched(tmp_path: Path, bell: Bell) -> None:
    raw = tmp_path / "late"
    watcher = Watcher(raw, bell.ring)
    try:
        watcher.ensure()
        assert not watcher.is_active()
        assert str(raw) in watcher.error
        for attempt in range(2):
            raw.mkdir()
            bell.quiet()
            watcher.ensure()
            assert bell.wait()
            assert watcher.is_active()
            bell.quiet()
            (raw / "CommitLog-7-1_cdc.idx").write_text("5")
            assert bell.wait()
            raw.rename(tmp_path / f"moved-{attempt}")
            assert not watcher.is_active()
    finally:
        watcher.stop()


def test_a_symbolic_link_to_the_directory_is_followed(
    raw: Path, tmp_path: Path, bell: Bell
) -> None:
    link = tmp_path / "link"
    link.symlink_to(raw)
    watcher = Watcher(link, bell.ring)
    try:
        watcher.ensure()
        assert bell.wait()
        bell.quiet()
        (raw / "CommitLog-7-1_cdc.idx").write_text("5")
        assert bell.wait()
    finally:
        watcher.stop()


def test_missing_inotify_is_logged_once_and_polling_continues(
    raw: Path,
    bell: Bell,
    watcher: Watcher,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
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
    watcher.ensure()
    assert watcher.is_active()
    assert bell.wait()


def test_an_overflow_rings_and_is_logged_once(
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
    watcher.ensure()
    assert bell.wait()
    for _ in range(3):
        bell.quiet()
        # As the kernel reports it: without a watch and without a name.
        overflow = InotifyEvent(WatchDescriptor(-1), InotifyConstants.IN_Q_OVERFLOW, 0, b"")
        made[0].inotify.handle_event(overflow)
        assert bell.wait()
    assert watcher.is_active()
    messages = [record.getMessage() for record in caplog.records]
    (message,) = [each for each in messages if "overflow" in each or "dropped" in each]
    assert str(raw) in message
    assert "fs.inotify.max_queued_events" in message
