"""Quarantined segments in a store on another machine, and back from there.

    error/CommitLog-7-1.log, _cdc.idx ── a thread ──► store    leaves error/CommitLog-7-1.log.remote
    error/CommitLog-7-1.log.remote and .retry ◄── the thread ── store, which has it no more then

So the node's disk does not fill with what nobody settles. Reasons and refused events stay here,
where a person looks. What is to be done is told by the files alone, so a kill anywhere leaves it to
be done again. One segment comes back at a time: the next one waits until it has left `cdc_raw`.
"""

import logging
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from agent.cdc_raw import SegmentName, parse_log_name
from agent.cdc_raw.names import is_temporary
from agent.metrics import AgentMetrics
from agent.quarantine.files import MAX_MARKER_BYTES, REMOTE, RETRY, segments_with_suffix
from agent.store.base import StoppableStore, StoreError, StoreStoppedError
from sidecar.files.fsync import sync_directory, write_synced
from sidecar.files.regular import make_directory, read_regular
from sidecar.logs import RateLimitedLog, fields

logger = logging.getLogger(__name__)

_JOIN_S = 5.0


@dataclass(frozen=True, slots=True)
class QuarantineSyncSettings:
    """The quarantine, and how often it is looked at."""

    directory: Path
    cdc_raw: Path
    fetches_all: bool = False
    """At its start all that the store has is asked for, also what another disk of the node sent."""
    look_interval_s: float = 5.0
    first_pause_s: float = 1.0
    longest_pause_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Due:
    """What is to be sent, and what to be fetched, oldest first."""

    send: tuple[SegmentName, ...] = ()
    fetch: tuple[SegmentName, ...] = ()


def due(file_names: Collection[str]) -> Due:
    """By the names in the quarantine."""
    here, remote, asked_for = (
        segments_with_suffix(file_names, suffix) for suffix in ("", REMOTE, RETRY)
    )
    return Due(tuple(sorted(here - asked_for)), tuple(sorted(asked_for & remote)))


class QuarantineSync:
    """The thread between the quarantine and the store. `open` and `close` it."""

    def __init__(
        self, store: StoppableStore, settings: QuarantineSyncSettings, metrics: AgentMetrics
    ) -> None:
        self._store = store
        self._settings = settings
        self._metrics = metrics
        self._repeated = RateLimitedLog(logger)
        self._changed = threading.Condition()
        self._is_stopped = False
        self._trouble = ""
        self._has_listed = not settings.fetches_all
        self._list_trouble = ""
        self._fetched: set[SegmentName] = set()
        self._thread = threading.Thread(target=self._run, name="quarantine", daemon=True)

    @property
    def trouble(self) -> str:
        """What is wrong at the moment, in sentences; empty where nothing is. Any thread may ask."""
        with self._changed:
            return " ".join(each for each in (self._trouble, self._list_trouble) if each)

    def open(self) -> None:
        for file_name in self._file_names():
            if is_temporary(file_name):
                (self._settings.directory / file_name).unlink(missing_ok=True)
        self._thread.start()

    def stop(self) -> None:
        """Has it end soon, without waiting for that."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
        self._store.stop()

    def close(self, deadline_s: float) -> None:
        """Ends it; what is not done is done after the next start."""
        self.stop()
        if self._thread.is_alive():
            self._thread.join(max(deadline_s, _JOIN_S))

    def _run(self) -> None:
        try:
            self._take_turns()
        finally:
            self._store.close()

    def _take_turns(self) -> None:
        settings = self._settings
        pause_s = settings.first_pause_s
        while not self._is_stopped:
            try:
                self._turn()
            except StoreStoppedError:
                return
            except (StoreError, OSError) as error:
                self._say(str(error))
                self._wait(pause_s)
                pause_s = min(2 * pause_s, settings.longest_pause_s)
            else:
                self._say("")
                pause_s = settings.first_pause_s
                self._wait(settings.look_interval_s)

    def _turn(self) -> None:
        """All that can be done now. Raises StoreError, OSError."""
        if not self._has_listed:
            self._list()
        asked = due(self._file_names())
        alone: StoreError | None = None
        for name in asked.send:
            alone = self._tried(self._send, name, "sent") or alone
        for name in asked.fetch:
            if self._is_on_its_way():
                break
            alone = self._tried(self._fetch, name, "fetched") or alone
        if alone is not None:
            raise alone
        if asked == Due():
            self._store.close()

    def _tried(
        self, step: Callable[[SegmentName], None], name: SegmentName, what: str
    ) -> StoreError | None:
        """What keeps this segment alone from it. Raises StoreError for what keeps all."""
        try:
            step(name)
        except StoreError as error:
            if not error.is_segment_specific:
                raise
            return error
        except OSError as error:
            sentence = f"{name} cannot be {what}: {error.strerror or error}."
            return StoreError(sentence, is_segment_specific=True)
        return None

    def _file_names(self) -> list[str]:
        try:
            return [file.name for file in self._settings.directory.iterdir()]
        except FileNotFoundError:
            return []

    def _list(self) -> None:
        """Asks for all that the store has."""
        directory = self._settings.directory
        try:
            stored = self._store.names()
        except StoreError as error:
            if not error.is_forbidden:
                raise
            self._list_trouble = str(error)
            self._repeated.log("list", self._list_trouble)
            stored = []
        here = segments_with_suffix(self._file_names(), "")
        for name in filter(None, map(parse_log_name, stored)):
            if name not in here and not (self._settings.cdc_raw / name.log).exists():
                make_directory(directory)
                self._mark_remote(name)
                write_synced(directory / f"{name.log}{RETRY}", b"")
        self._has_listed = True

    def _send(self, name: SegmentName) -> None:
        directory = self._settings.directory
        log, retry = directory / name.log, directory / f"{name.log}{RETRY}"
        sent: list[Path] = []
        for file in (log, directory / name.idx):
            try:
                self._store.put(file)
            except FileNotFoundError:
                # A segment need not have an index, and a person may have settled it meanwhile.
                if file.exists():
                    raise
                continue
            sent.append(file)
        if log not in sent or not log.exists() or retry.exists():
            self._remove(name)
            return
        self._mark_remote(name)
        # Whoever puts a segment back looks for the mark behind the request: one of both sees.
        if not log.exists() or retry.exists():
            (directory / f"{name.log}{REMOTE}").unlink(missing_ok=True)
            self._remove(name)
            return
        for file in sent:
            file.unlink(missing_ok=True)
        self._metrics.transferred_segments.inc()
        logger.info(
            "a quarantined segment is sent", extra=fields(segment=name, to=self._store.where)
        )

    def _is_on_its_way(self) -> bool:
        """Whether one that came back is not read yet, or not settled again."""
        places = (self._settings.directory, self._settings.cdc_raw)
        return any((place / name.log).exists() for name in self._fetched for place in places)

    def _fetch(self, name: SegmentName) -> None:
        directory = self._settings.directory
        log, remote = directory / name.log, directory / f"{name.log}{REMOTE}"
        where, sent_to = self._store.where, read_regular(remote, MAX_MARKER_BYTES).decode().strip()
        # A kill can leave the mark empty, with the segment beside it.
        if sent_to not in ("", where):
            raise StoreError(
                f"{name} is in {sent_to} and cannot be read again from {where}: set "
                "remote.commit.log.relocation.dir and the id of the node back, or move it there "
                f"and correct {remote}.",
                is_segment_specific=True,
            )
        is_here = log.exists()
        if not is_here:
            self._store.get(name.idx, directory / name.idx)
            is_here = self._store.get(name.log, log)
        if is_here:
            # A fetch that was killed may have left it here without this.
            sync_directory(directory)
            self._remove(name)
            self._fetched.add(name)
            remote.unlink(missing_ok=True)
            logger.info("a quarantined segment is back", extra=fields(segment=name, store=where))
        else:
            # The mark stays: it says where to look for the segment.
            (directory / f"{name.log}{RETRY}").unlink(missing_ok=True)
            logger.warning(
                "a quarantined segment is not where it was sent; it is not asked for any more",
                extra=fields(segment=name, to=where),
            )
        sync_directory(directory)

    def _remove(self, name: SegmentName) -> None:
        """From the store; without the right to, they stay there. Raises StoreError."""
        try:
            for file_name in (name.log, name.idx):
                self._store.remove(file_name)
        except StoreError as error:
            if not error.is_forbidden:
                raise
            logger.warning(
                "a quarantined segment stays in the store too",
                extra=fields(segment=name, reason=str(error)),
            )

    def _mark_remote(self, name: SegmentName) -> None:
        directory = self._settings.directory
        write_synced(directory / f"{name.log}{REMOTE}", f"{self._store.where}\n".encode())
        sync_directory(directory)

    def _say(self, trouble: str) -> None:
        with self._changed:
            self._trouble = trouble
        if trouble:
            self._metrics.transfer_failures.inc()
            self._repeated.log("quarantine", trouble)
        else:
            self._repeated.resolved("quarantine", f"{self._store.where} answers again.")

    def _wait(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_stopped, seconds)
