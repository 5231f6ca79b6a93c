"""Finished segments on their way to a store on another machine, which the pipeline never waits for.

    cdc_raw ── linked and unlinked ──► <relocation directory>/upload ── a thread ──► store

A segment leaves `upload` when the store has it whole, which the store's own checksum says. What a
kill leaves there is sent after the next start. The directory is bounded: a segment that has no room
stays in `cdc_raw`, and that is said.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent.cdc_raw import SegmentName, parse_log_name
from agent.metrics import AgentMetrics
from agent.transfer.base import Backlog, StaysError, Transfer
from agent.transfer.move import move
from sidecar.logs import Repeated, fields

UPLOAD = "upload"

logger = logging.getLogger(__name__)

_JOIN_S = 5.0


class UploadError(Exception):
    """A segment could not be sent; the message is a sentence for people.

    `of_segment`: others may have better luck, so they go first.
    """

    def __init__(self, sentence: str, *, of_segment: bool = False) -> None:
        super().__init__(sentence)
        self.of_segment = of_segment


class UploadStoppedError(Exception):
    """The upload was given up because the agent stops."""


class Store(Protocol):
    """Where segments go. For one thread."""

    @property
    def where(self) -> str:
        """Its address, for people."""

    def open(self) -> None:
        """Loads what it works with, before events are delivered: later it would cost them."""

    def put(self, file: Path, is_stopped: Callable[[], bool]) -> bool:
        """The store has the whole file on return, by a checksum that both sides made; False when it
        had it before. Raises UploadError, UploadStoppedError once `is_stopped`, OSError for the
        file."""


@dataclass(frozen=True, slots=True)
class UploadSettings:
    """Bounds of the directory, and pauses after failures: the first, doubled up to the longest."""

    directory: Path
    max_bytes: int
    first_pause_s: float = 1.0
    longest_pause_s: float = 60.0


class Uploads(Transfer):
    """The directory, and the thread that empties it, the oldest segment first."""

    def __init__(self, store: Store, settings: UploadSettings, metrics: AgentMetrics) -> None:
        self._store = store
        self._settings = settings
        self._metrics = metrics
        self._repeated = Repeated(logger)
        self._changed = threading.Condition()
        self._waiting: dict[SegmentName, int] = {}
        self._troubles: dict[SegmentName | None, str] = {}
        self._passed_over: set[SegmentName] = set()
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="upload", daemon=True)
        metrics.transfer_limit_bytes.set(settings.max_bytes)

    def open(self) -> None:
        directory = self._settings.directory
        directory.mkdir(parents=True, exist_ok=True)
        self._store.open()
        for file in directory.iterdir():
            name = parse_log_name(file.name)
            if name is not None:
                self._waiting[name] = file.stat().st_size
            elif file.name.startswith(".") and file.suffix == ".tmp":
                file.unlink()
        if self._waiting:
            logger.info(
                "segments of an earlier run are sent first",
                extra=fields(segments=len(self._waiting), to=self._store.where),
            )
        self._show()
        self._thread.start()

    def close(self, deadline_s: float) -> None:
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(max(deadline_s, _JOIN_S))

    def transfer(self, log: Path, idx: Path) -> None:
        name = parse_log_name(log.name)
        assert name is not None
        try:
            size_bytes = log.stat().st_size
        except FileNotFoundError:
            idx.unlink(missing_ok=True)
            return
        with self._changed:
            others = sum(size for other, size in self._waiting.items() if other != name)
            is_full = bool(others) and others + size_bytes > self._settings.max_bytes
        if is_full:
            raise StaysError(
                f"{self._settings.directory} is full of segments that wait for "
                f"{self._store.where}; see the transfer in /health, or raise "
                "commit.log.transfer.backlog.max.bytes"
            )
        move(log, self._settings.directory / log.name)
        # The index of a finished segment says nothing that the segment does not.
        idx.unlink(missing_ok=True)
        with self._changed:
            self._waiting[name] = size_bytes
            self._changed.notify_all()
        self._show()

    @property
    def backlog(self) -> Backlog:
        with self._changed:
            return Backlog(
                self._store.where,
                len(self._waiting),
                sum(self._waiting.values()),
                self._settings.max_bytes,
                " ".join(self._troubles.values()),
            )

    def _run(self) -> None:
        pause_s = self._settings.first_pause_s
        while (name := self._next()) is not None:
            try:
                self._send(name)
            except UploadStoppedError:
                return
            except (UploadError, OSError) as error:
                self._failed(name, error)
                with self._changed:
                    self._changed.wait_for(lambda: self._is_stopped, pause_s)
                pause_s = min(2 * pause_s, self._settings.longest_pause_s)
            else:
                pause_s = self._settings.first_pause_s

    def _next(self) -> SegmentName | None:
        """Waits for a segment; None once stopped. Those that failed alone come round last."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_stopped or self._waiting)
            if self._is_stopped:
                return None
            if not self._waiting.keys() - self._passed_over:
                self._passed_over.clear()
            return min(self._waiting.keys() - self._passed_over)

    def _send(self, name: SegmentName) -> None:
        file = self._settings.directory / name.log
        try:
            is_new = self._store.put(file, lambda: self._is_stopped)
        except FileNotFoundError:
            # Somebody took it away, and whoever did has it.
            logger.warning("a segment is gone that was to be sent", extra=fields(segment=name))
            self._done(name)
            return
        size_bytes = self._waiting[name]
        file.unlink(missing_ok=True)
        self._metrics.transferred_segments.inc()
        self._metrics.transferred_bytes.inc(size_bytes if is_new else 0)
        logger.info(
            "segment sent" if is_new else "segment was sent before",
            extra=fields(segment=name, to=self._store.where, bytes=size_bytes),
        )
        self._done(name)

    def _done(self, name: SegmentName) -> None:
        with self._changed:
            del self._waiting[name]
            self._troubles.pop(name, None)
            self._troubles.pop(None, None)
            is_well = not self._troubles
        if is_well:
            self._repeated.over("upload", f"Segments are sent to {self._store.where} again.")
        self._show()

    def _failed(self, name: SegmentName, error: UploadError | OSError) -> None:
        is_alone = isinstance(error, UploadError) and error.of_segment
        sentence = str(error)
        if isinstance(error, OSError):
            sentence = f"{name} cannot be read to be sent: {error.strerror or error}."
        with self._changed:
            self._troubles[name if is_alone else None] = sentence
            if is_alone:
                self._passed_over.add(name)
        self._metrics.transfer_failures.inc()
        self._repeated.say("upload", sentence, segments=len(self._waiting))
        self._show()

    def _show(self) -> None:
        backlog = self.backlog
        self._metrics.transfer_segments.set(backlog.segments)
        self._metrics.transfer_bytes.set(backlog.size_bytes)
        self._metrics.transfer_up.set(not backlog.trouble)
