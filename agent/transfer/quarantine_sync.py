"""Moves quarantined segments to a remote store, and fetches them from there for a retry.

    error/CommitLog-7-1.log, _cdc.idx ── a thread ──► store    leaves error/CommitLog-7-1.log.remote
    error/CommitLog-7-1.log.remote and .retry ◄── the thread ── store, from which it is deleted

So quarantined segments do not fill the node's disk. Reasons and dead letters stay local, for the
operator. File names determine the next step, so the agent repeats it after a crash. It fetches one
segment at a time, and waits until the segment has left `cdc_raw`.
"""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from agent.cdc_raw.names import SegmentFiles, SegmentName, is_temporary, parse_log_name
from agent.metrics import AgentMetrics
from agent.quarantine.files import (
    REMOTE,
    RETRY,
    QuarantinePaths,
    file_names,
    segments_with_suffix,
)
from agent.transfer.transfer import StoreThread
from sidecar.files.directories import sync_directory, write_synced
from sidecar.files.regular import make_directory
from sidecar.logs import RateLimitedLog, fields
from sidecar.process.wait_policy import RetryPause
from sidecar.store.base import StoppableStore, StoreError, StoreStoppedError

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QuarantineSyncSettings:
    directory: Path
    cdc_raw: Path
    fetches_all: bool = False
    """Requests all segments in the store at the start, even if a different disk sent them."""
    scan_interval_s: float = 5.0
    first_pause_s: float = 1.0
    longest_pause_s: float = 60.0


@dataclass(frozen=True, slots=True)
class SegmentsDue:
    """Segments to send and to fetch, oldest first."""

    send: tuple[SegmentName, ...] = ()
    fetch: tuple[SegmentName, ...] = ()


def due(names: Collection[str]) -> SegmentsDue:
    """Derives the due segments from the file names in the quarantine."""
    here, remote, asked_for = (
        segments_with_suffix(names, suffix) for suffix in ("", REMOTE, RETRY)
    )
    return SegmentsDue(tuple(sorted(here - asked_for)), tuple(sorted(asked_for & remote)))


class QuarantineSync(StoreThread):
    """The thread that moves segments between the quarantine and the store."""

    def __init__(
        self, store: StoppableStore, settings: QuarantineSyncSettings, metrics: AgentMetrics
    ) -> None:
        super().__init__(store, "quarantine")
        self._settings = settings
        self._metrics = metrics
        self._repeated = RateLimitedLog(logger)
        self._error = ""
        self._has_listed = not settings.fetches_all
        self._list_error = ""
        self._fetched: set[SegmentName] = set()

    @property
    def error(self) -> str:
        """Current errors; empty without an error. Any thread may call it."""
        with self._changed:
            return " ".join(each for each in (self._error, self._list_error) if each)

    def open(self) -> None:
        for file_name in file_names(self._settings.directory):
            if is_temporary(file_name):
                (self._settings.directory / file_name).unlink(missing_ok=True)
        self._thread.start()

    def _work(self) -> None:
        settings = self._settings
        pause = RetryPause(settings.first_pause_s, settings.longest_pause_s)
        while not self.is_stopping:
            try:
                self._tick()
            except StoreStoppedError:
                return
            except (StoreError, OSError) as error:
                self._report(str(error))
                self._wait(pause.failed())
            else:
                self._report("")
                pause.succeeded()
                self._wait(settings.scan_interval_s)

    def _tick(self) -> None:
        """Sends and fetches all due segments. Raises StoreError and OSError."""
        if not self._has_listed:
            self._list()
        found = due(file_names(self._settings.directory))
        failed: StoreError | None = None
        for name in found.send:
            failed = self._try_step(self._send, name, "sent") or failed
        for name in found.fetch:
            if self._is_requeueing():
                break
            failed = self._try_step(self._fetch, name, "fetched") or failed
        if failed is not None:
            raise failed
        if found == SegmentsDue():
            self._store.close()

    def _try_step(
        self, step: Callable[[SegmentName], None], name: SegmentName, what: str
    ) -> StoreError | None:
        """Returns an error of this segment only; raises StoreError if all segments are affected."""
        try:
            step(name)
        except StoreError as error:
            if not error.is_segment_specific:
                raise
            return error
        except OSError as error:
            message = f"{name} cannot be {what}: {error.strerror or error}."
            return StoreError(message, is_segment_specific=True)
        return None

    def _files(self, name: SegmentName) -> tuple[SegmentFiles, QuarantinePaths]:
        directory = self._settings.directory
        return SegmentFiles(directory, name), QuarantinePaths(directory, name.log)

    def _list(self) -> None:
        """Requests every segment in the store."""
        directory = self._settings.directory
        try:
            stored = self._store.names()
        except StoreError as error:
            if not error.is_forbidden:
                raise
            self._list_error = str(error)
            self._repeated.log("list", self._list_error)
            stored = []
        here = segments_with_suffix(file_names(self._settings.directory), "")
        for name in filter(None, map(parse_log_name, stored)):
            if name not in here and not SegmentFiles(self._settings.cdc_raw, name).log.exists():
                make_directory(directory)
                self.mark_remote(name)
                write_synced(QuarantinePaths(directory, name.log).retry, b"")
        self._has_listed = True

    def _send(self, name: SegmentName) -> None:
        files, marks = self._files(name)
        log, retry = files.log, marks.retry
        sent: list[Path] = []
        for file in files:
            try:
                self._store.put(file)
            except FileNotFoundError:
                # A segment need not have an index, and the operator can have discarded it.
                if file.exists():
                    raise
                continue
            sent.append(file)
        if log not in sent or not log.exists() or retry.exists():
            self._remove(name)
            return
        self.mark_remote(name)
        # A requeue checks the marker after the request, so one of the two sees the other.
        if not log.exists() or retry.exists():
            marks.remote.unlink(missing_ok=True)
            self._remove(name)
            return
        for file in sent:
            file.unlink(missing_ok=True)
        self._metrics.transferred_segments.inc()
        logger.info("quarantined segment sent", extra=fields(segment=name, to=self._store.address))

    def _is_requeueing(self) -> bool:
        """Whether a fetched segment still waits to be read again."""
        places = (self._settings.directory, self._settings.cdc_raw)
        return any(
            SegmentFiles(place, name).log.exists() for name in self._fetched for place in places
        )

    def _fetch(self, name: SegmentName) -> None:
        files, marks = self._files(name)
        address, sent_to = self._store.address, marks.remote_directory
        # A crash can leave an empty marker next to the segment.
        if sent_to not in ("", address):
            raise StoreError(
                f"{name} is in {sent_to} and cannot be fetched from {address}. Restore the "
                "previous remote.commit.log.relocation.dir and node.id, or move the segment to "
                f"{address} and write that address to {marks.remote}.",
                is_segment_specific=True,
            )
        is_here = files.log.exists()
        if not is_here:
            self._store.get(name.idx, files.idx)
            is_here = self._store.get(name.log, files.log)
        if is_here:
            # An interrupted fetch can have left the segment unsynced.
            sync_directory(files.directory)
            self._remove(name)
            self._fetched.add(name)
            marks.remote.unlink(missing_ok=True)
            logger.info("quarantined segment fetched", extra=fields(segment=name, store=address))
        else:
            # The marker stays: it tells the operator where the segment should be.
            marks.retry.unlink(missing_ok=True)
            logger.warning(
                "a quarantined segment is missing in the store; its retry request is removed",
                extra=fields(segment=name, to=address),
            )
        sync_directory(files.directory)

    def _remove(self, name: SegmentName) -> None:
        """Deletes a segment from the store, if allowed. Raises StoreError."""
        try:
            for file_name in (name.log, name.idx):
                self._store.remove(file_name)
        except StoreError as error:
            if not error.is_forbidden:
                raise
            logger.warning(
                "a quarantined segment cannot be deleted from the store",
                extra=fields(segment=name, reason=str(error)),
            )

    def mark_remote(self, name: SegmentName) -> None:
        """Durably notes that the store contains a segment. Raises OSError."""
        files, marks = self._files(name)
        write_synced(marks.remote, f"{self._store.address}\n".encode())
        sync_directory(files.directory)

    def _report(self, error: str) -> None:
        with self._changed:
            self._error = error
        if error:
            self._metrics.transfer_failures.inc()
            self._repeated.log("quarantine", error)
        else:
            self._repeated.resolved("quarantine", f"{self._store.address} is available again.")
