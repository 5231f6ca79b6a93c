"""Wakes the pipeline when something in `cdc_raw` changes.

An event is a wake-up only: the pipeline then looks at the whole directory. When the kernel drops
events because its queue is full, the queue may hold only events of unrelated names, so the overflow
itself wakes the pipeline too. Without inotify the pipeline looks periodically.
"""

import logging
from collections.abc import Callable
from pathlib import Path

from watchdog.events import (
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers.api import BaseObserver

from agent.cdc_raw.names import parse_idx_name, parse_log_name
from sidecar.logs import RateLimitedLog

logger = logging.getLogger(__name__)
# It calls the end of a watch an error.
logging.getLogger("watchdog.observers.inotify").setLevel(logging.CRITICAL)
# It logs each overflow, without the directory. The watcher logs overflows itself.
logging.getLogger("watchdog.observers.inotify_c").setLevel(logging.ERROR)

# Closed: an idx was written. Created: a link was made or a file moved in. Never "opened" or "closed
# unwritten": every look would wake the next one.
_EVENTS: list[type[FileSystemEvent]] = [FileClosedEvent, FileCreatedEvent, FileDeletedEvent]


class Watcher:
    """An inotify watch on one directory that calls `on_change` (from its own thread)."""

    def __init__(self, directory: Path, on_change: Callable[[], None]) -> None:
        self._directory = directory
        self._on_change = on_change
        self._observer: BaseObserver | None = None
        self._watched: tuple[int, int] | None = None
        self._said = ""
        self._repeated = RateLimitedLog(logger)

    def is_active(self) -> bool:
        """False: nothing wakes, only periodic looks see changes."""
        return (
            self._observer is not None
            and any(emitter.is_alive() for emitter in self._observer.emitters)
            and self._watched == _identity(self._directory)
        )

    @property
    def trouble(self) -> str:
        """Why it is not active, in one sentence; empty where it is."""
        return "" if self.is_active() else self._said

    def ensure(self) -> None:
        """Starts the watch, or starts it again where it has ended (the directory was removed or
        moved, and made again). Never raises: without inotify it says so once and leaves it at
        that."""
        if self.is_active():
            return
        was_watching = self._observer is not None
        self.stop()
        self._watched = _identity(self._directory)
        try:
            handler = _Wake(self._on_change)
            self._observer = _started(self._directory, handler, self._overflowed)
        except (ImportError, OSError) as error:
            said = (
                f"Changes in {self._directory} are seen only by looking periodically: "
                f"inotify cannot be used there ({error})."
            )
            if said != self._said:
                logger.warning(said)
            self._said = said
            return
        if was_watching or self._said:
            logger.info("Watching %s again.", self._directory)
        self._said = ""
        # What changed before the watch stood is seen by a look after it.
        self._on_change()

    def stop(self) -> None:
        """Ends the watch and its threads."""
        observer, self._observer = self._observer, None
        if observer is not None:
            observer.stop()
            observer.join()

    def _overflowed(self) -> None:
        self._repeated.log(
            "overflow",
            f"The kernel dropped inotify events of {self._directory} because their queue was full. "
            "The agent looks at the whole directory. If this repeats, raise "
            "fs.inotify.max_queued_events with sysctl.",
        )
        self._on_change()


class _Wake(FileSystemEventHandler):
    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change

    def on_any_event(self, event: FileSystemEvent) -> None:
        file_name = Path(str(event.src_path)).name
        if parse_idx_name(file_name) or parse_log_name(file_name):
            self._on_change()


def _identity(directory: Path) -> tuple[int, int] | None:
    try:
        found = directory.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _started(
    directory: Path, handler: FileSystemEventHandler, on_overflow: Callable[[], None]
) -> BaseObserver:
    # Imported here: where the C library has no inotify the import itself fails.
    from agent.cdc_raw.inotify import OverflowObserver

    observer = OverflowObserver(on_overflow)
    try:
        # Resolved, because watchdog does not follow a symbolic link to the directory.
        path = str(directory.resolve())
        observer.schedule(handler, path, recursive=False, event_filter=_EVENTS)
        observer.start()
    except BaseException:
        observer.stop()
        raise
    return observer
