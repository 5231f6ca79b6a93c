"""Uses inotify to wake the pipeline when `cdc_raw` changes.

The pipeline then scans the whole directory. A queue overflow wakes it too, because the dropped
events may concern segments. Without inotify the pipeline only scans periodically.
"""

import logging
from collections.abc import Callable
from pathlib import Path

from watchdog.events import (
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers.api import BaseObserver

from agent.cdc_raw.names import parse_file_name
from sidecar.logs import RateLimitedLog

logger = logging.getLogger(__name__)
# watchdog logs an error when a watch ends.
logging.getLogger("watchdog.observers.inotify").setLevel(logging.CRITICAL)
# watchdog logs each overflow, without the directory. The watcher logs overflows itself.
logging.getLogger("watchdog.observers.inotify_c").setLevel(logging.ERROR)

# Closed: an index was written. Created: a link or a moved file. Events of reads are left out,
# because each scan would wake the pipeline for the next scan.
_EVENTS: list[type[FileSystemEvent]] = [
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileMovedEvent,
]


class Watcher(FileSystemEventHandler):
    """Watches one directory and calls `on_change` on its own thread."""

    def __init__(self, directory: Path, on_change: Callable[[], None]) -> None:
        self._directory = directory
        self._on_change = on_change
        self._observer: BaseObserver | None = None
        self._watched: tuple[int, int] | None = None
        self._reason = ""
        self._repeated = RateLimitedLog(logger)
        self.removing: set[str] = set()
        """Names of files that the agent removes, whose deletion does not wake the pipeline. Any
        thread may change the set."""

    def is_active(self) -> bool:
        """False if only periodic scans detect changes."""
        return (
            self._observer is not None
            and any(emitter.is_alive() for emitter in self._observer.emitters)
            and self._watched == _identity(self._directory)
        )

    @property
    def error(self) -> str:
        """Why the watch is inactive; empty if it is active."""
        return "" if self.is_active() else self._reason

    def ensure(self) -> None:
        """Starts the watch, or restarts it after the directory was replaced. Never raises: without
        inotify it logs one warning."""
        if self.is_active():
            return
        was_watching = self._observer is not None
        self.stop()
        self._watched = _identity(self._directory)
        try:
            self._observer = self._start_observer()
        except (ImportError, OSError) as error:
            reason = (
                f"{self._directory} is scanned only periodically, because inotify is not available "
                f"({error})."
            )
            if reason != self._reason:
                logger.warning(reason)
            self._reason = reason
            return
        if was_watching or self._reason:
            logger.info("Watching %s again.", self._directory)
        self._reason = ""
        # Scan for changes from before the watch started.
        self._on_change()

    def stop(self) -> None:
        observer, self._observer = self._observer, None
        if observer is not None:
            observer.stop()
            observer.join()

    def on_any_event(self, event: FileSystemEvent) -> None:
        # A copy can be renamed within the directory, so the target name counts.
        file_name = Path(str(event.dest_path or event.src_path)).name
        if isinstance(event, FileDeletedEvent) and file_name in self.removing:
            self.removing.discard(file_name)
        elif parse_file_name(file_name):
            self._on_change()

    def _start_observer(self) -> BaseObserver:
        # Imported here: the import fails if the C library does not support inotify.
        from agent.cdc_raw.inotify import OverflowObserver

        observer = OverflowObserver(self._report_overflow)
        try:
            # Resolved, because watchdog does not follow a symbolic link to the directory.
            path = str(self._directory.resolve())
            observer.schedule(self, path, recursive=False, event_filter=_EVENTS)
            observer.start()
        except BaseException:
            observer.stop()
            raise
        return observer

    def _report_overflow(self) -> None:
        self._repeated.log(
            "overflow",
            f"The kernel dropped inotify events of {self._directory} because their queue was full. "
            "The agent scans the whole directory. If this repeats, raise "
            "fs.inotify.max_queued_events with sysctl.",
        )
        self._on_change()


def _identity(directory: Path) -> tuple[int, int] | None:
    try:
        found = directory.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
