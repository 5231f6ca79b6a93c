"""Sends finished segments to a remote store, in the background.

    cdc_raw ── linked and unlinked ──► <relocation directory>/upload ── a thread ──► store

A segment consists of its `.log` and its `_cdc.idx`, sent in this order. The agent deletes it from
`upload` after the store confirms both checksums. After a crash, the agent sends the remaining
segments. The directory has a size limit; a segment that does not fit stays in `cdc_raw`.
"""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.cdc_raw.move import move
from agent.cdc_raw.names import (
    OldestFirst,
    SegmentFiles,
    SegmentName,
    parse_file_name,
    parse_log_name,
)
from agent.metrics import AgentMetrics
from agent.transfer.transfer import Backlog, StoreThread, Transfer, TransferDeferredError
from sidecar.files.regular import make_directory, regular_size_bytes
from sidecar.logs import RateLimitedLog, fields
from sidecar.process.wait_policy import RetryPause
from sidecar.store.base import StoppableStore, StoreError, StoreStoppedError

UPLOAD = "upload"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UploadSettings:
    """Limit of the directory, and pauses after failures, which double up to the longest pause."""

    directory: Path
    max_bytes: int
    first_pause_s: float = 1.0
    longest_pause_s: float = 60.0


class UploadQueue(StoreThread, Transfer):
    """The directory, and the thread that empties it, oldest segment first."""

    def __init__(
        self, store: StoppableStore, settings: UploadSettings, metrics: AgentMetrics
    ) -> None:
        super().__init__(store, "upload")
        self._settings = settings
        self._metrics = metrics
        self._repeated = RateLimitedLog(logger)
        self._waiting: dict[SegmentName, int] = {}
        self._waiting_bytes = 0
        self._in_turn = OldestFirst()
        """Segments without a segment-specific error."""
        self._errors: dict[SegmentName | None, str] = {}
        metrics.transfer_limit_bytes.set(settings.max_bytes)

    def open(self) -> None:
        directory = self._settings.directory
        make_directory(directory)
        for file in directory.iterdir():
            name = parse_file_name(file.name)
            if name is not None:
                size_bytes = regular_size_bytes(file) or 0
                self._note(name, self._waiting.get(name, 0) + size_bytes)
            elif file.name.startswith(".") and file.suffix == ".tmp":
                file.unlink()
        if self._waiting:
            logger.info(
                "sending segments of an earlier run first",
                extra=fields(segments=len(self._waiting), to=self._store.address),
            )
        self._set_gauges()
        self._thread.start()

    def transfer(self, log: Path, idx: Path) -> None:
        name = parse_log_name(log.name)
        assert name is not None
        sizes_bytes = [
            size for file in (log, idx) if (size := regular_size_bytes(file)) is not None
        ]
        if not sizes_bytes:
            return
        size_bytes = sum(sizes_bytes)
        with self._changed:
            others = self._waiting_bytes - self._waiting.get(name, 0)
            is_full = bool(others) and others + size_bytes > self._settings.max_bytes
        if is_full:
            raise TransferDeferredError(
                f"{self._settings.directory} is full of segments that wait for "
                f"{self._store.address}. See the transfer in /health, or raise "
                "commit.log.transfer.backlog.max.bytes"
            )
        # Move the index first: the thread expects it with the segment.
        for source in (idx, log):
            move(source, self._settings.directory / source.name)
        with self._changed:
            self._note(name, size_bytes)
            self._changed.notify_all()
        self._set_gauges()

    @property
    def backlog(self) -> Backlog:
        with self._changed:
            return Backlog(
                self._store.address,
                len(self._waiting),
                self._waiting_bytes,
                self._settings.max_bytes,
                " ".join(self._errors.values()),
            )

    def _work(self) -> None:
        pause = RetryPause(self._settings.first_pause_s, self._settings.longest_pause_s)
        while (name := self._next()) is not None:
            try:
                self._send(name)
            except StoreStoppedError:
                return
            except (StoreError, OSError) as error:
                self._note_failure(name, error)
                self._wait(pause.failed())
            else:
                pause.succeeded()

    def _next(self) -> SegmentName | None:
        """Waits for a segment; returns None once stopped. Segment-specific errors come last."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_stopping or self._waiting)
            if self.is_stopping:
                return None
            if self._in_turn.oldest is None:
                for name in self._waiting:
                    self._in_turn.put(name, is_member=True)
            return self._in_turn.oldest

    def _note(self, name: SegmentName, size_bytes: int | None) -> None:
        """Notes the size of a waiting segment; None if it no longer waits."""
        before = self._waiting.pop(name, 0)
        if size_bytes is not None:
            self._waiting[name] = size_bytes
        self._waiting_bytes += (size_bytes or 0) - before
        self._in_turn.put(name, is_member=size_bytes is not None)

    def _send(self, name: SegmentName) -> None:
        sent_bytes, files = self._put(*SegmentFiles(self._settings.directory, name))
        if not files:
            # A different process removed the files.
            logger.warning(
                "a segment in the upload directory disappeared before it was sent",
                extra=fields(segment=name),
            )
            self._note_success(name)
            return
        for file in files:
            file.unlink(missing_ok=True)
        self._metrics.transferred_segments.inc()
        self._metrics.transferred_bytes.inc(sent_bytes)
        logger.info(
            "segment sent" if sent_bytes else "segment was sent earlier",
            extra=fields(segment=name, to=self._store.address, bytes=sent_bytes),
        )
        self._note_success(name)

    def _put(self, log: Path, idx: Path) -> tuple[int, Sequence[Path]]:
        """Sends both files; returns the number of new bytes, and the files that are safe."""
        sent_bytes, files = 0, []
        for file in (log, idx):
            if not os.path.lexists(file):
                continue
            # The store rejects a file that is not regular.
            size_bytes = regular_size_bytes(file) or 0
            try:
                is_new = self._store.put(file)
            except FileNotFoundError:
                if file.exists():
                    raise
                continue
            sent_bytes += size_bytes if is_new else 0
            files.append(file)
        return sent_bytes, files

    def _note_success(self, name: SegmentName) -> None:
        with self._changed:
            # The same segment may have arrived again meanwhile.
            if not any(file.exists() for file in SegmentFiles(self._settings.directory, name)):
                self._note(name, None)
            self._errors.pop(name, None)
            self._errors.pop(None, None)
            is_well = not self._errors
        if is_well:
            self._repeated.resolved(
                "upload", f"Sending segments to {self._store.address} works again."
            )
        self._set_gauges()

    def _note_failure(self, name: SegmentName, error: StoreError | OSError) -> None:
        is_alone = isinstance(error, OSError) or error.is_segment_specific
        message = str(error)
        if isinstance(error, OSError):
            message = f"{name} cannot be read: {error.strerror or error}."
        with self._changed:
            self._errors[name if is_alone else None] = message
            if is_alone:
                self._in_turn.put(name, is_member=False)
        self._metrics.transfer_failures.inc()
        self._repeated.log("upload", message, segments=len(self._waiting))
        self._set_gauges()

    def _set_gauges(self) -> None:
        backlog = self.backlog
        self._metrics.transfer_segments.set(backlog.segments)
        self._metrics.transfer_bytes.set(backlog.size_bytes)
        self._metrics.transfer_up.set(not backlog.error)
