"""Copies beside the stream: planned ahead, read by threads, handed out where they belong.

At a point of the stream, up to which all events are placed and behind which none is, a round of
chunks is read as of that time, and the stream is held until they are handed out. So each document
is exactly as it was at its place. What a server does not read so goes through windows (`windows`).

Everything here runs on the thread of the pipeline; other threads only read and encode, and call
`wake` when they have something.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from pymongo.errors import PyMongoError

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.change_stream.backoff import Backoff
from mongo_agent.change_stream.tokens import ClusterTime
from mongo_agent.encoder import ChangeEvents, MongoEncoder
from mongo_agent.signals import Signal, SignalResult
from mongo_agent.snapshot.apply_signal import apply_signal
from mongo_agent.snapshot.collection_reader import ChunkDocuments, CollectionReader
from mongo_agent.snapshot.collections import Client
from mongo_agent.snapshot.encoding import ChunkPart, EncodedChunk, encode_chunk
from mongo_agent.snapshot.planner import Plan, Planner, PlanTask, ResolvedRequest
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.read_failures import ReadFailure, classify_read_failure
from mongo_agent.snapshot.read_retry import ReadRetry
from mongo_agent.snapshot.records import (
    Chunk,
    CollectionSnapshot,
    InitialSnapshot,
    SnapshotOutcome,
    SnapshotReason,
)
from mongo_agent.snapshot.settings import SnapshotSettings
from mongo_agent.snapshot.snapshot_markers import ChunkPlacement
from mongo_agent.snapshot.snapshot_mode import restarted
from mongo_agent.snapshot.view import SnapshotView, view_of
from mongo_agent.snapshot.windows import Window, touches
from sidecar.logs import fields

logger = logging.getLogger(__name__)

_PLANNED_AHEAD = 2
"""So many chunks are planned ahead for each thread."""
_WINDOWS = 4
"""So many chunks for each thread wait for their place while there is no point for them."""
_NEVER = ClusterTime(0, 0)


@dataclass(frozen=True, slots=True)
class _Read:
    """`pieces` are the messages of all the documents, where it is known how they are marked; the
    documents themselves are gone then."""

    rows: ChunkDocuments
    count: int
    parts: list[ChunkPart] | None = None


@dataclass(frozen=True, slots=True)
class _Reading:
    """A chunk that a thread reads; `window` where that is not at a point."""

    copy: CollectionSnapshot
    chunk: Chunk
    future: Future[_Read]
    window: Window | None = None


class Snapshotter:
    """One for the life of the agent: `begin` at a point, `take` what is to be placed there."""

    def __init__(
        self,
        client: Client,
        encoder: MongoEncoder,
        namespaces: Namespaces,
        settings: SnapshotSettings,
        progress: SnapshotProgress,
        *,
        wake: Callable[[], None],
        backoff: Backoff | None = None,
        waits_when_refused: bool = False,
        is_ready: Callable[[str, str], bool] = lambda database, collection: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """With `waits_when_refused` a server that refuses the agent is tried again. `is_ready`
        says of a database and collection whether its documents can be encoded; `clock` gives
        seconds."""
        self._is_ready = is_ready
        self._encoder = encoder
        self._namespaces = namespaces
        self._settings = settings
        self._progress = progress
        self._wake = wake
        self._clock = clock
        self._reader = CollectionReader(client, settings)
        self._planner = Planner(client, self._reader, namespaces, settings, is_ready)
        self._threads = ThreadPoolExecutor(settings.threads + 1, thread_name_prefix="copy")
        self._planning: tuple[PlanTask, Future[Plan]] | None = None
        self._round: deque[_Reading] = deque()
        self._windows: list[_Reading] = []
        self._point = _NEVER
        self._passed = _NEVER
        self._reads_at_times = True
        self._trouble = ReadRetry(
            backoff or Backoff(),
            clock,
            settings.delay_ms,
            waits_when_refused=waits_when_refused,
        )
        self._measure_anew()

    @property
    def progress(self) -> SnapshotProgress:
        """What is planned and delivered, of what `take` gave."""
        return self._progress

    @property
    def wants_point(self) -> bool:
        """Whether a round could begin if it were given a point."""
        self._settle()
        if self._round or not self._may_read:
            return False
        ready = len(self._ready(is_plain=False))
        return ready >= self._settings.threads or (ready > 0 and self._planning is None)

    @property
    def holds_stream(self) -> bool:
        """Whether a round is being read at its point: nothing else may be placed meanwhile."""
        return bool(self._round)

    def begin(self, point: ClusterTime) -> None:
        """Read a round at a point: all events up to it are placed, and none behind it."""
        if self._round:
            raise ValueError("a round begins before the last one is taken")
        self._point = point
        for copy, chunk in self._ready(is_plain=False)[: self._settings.threads]:
            future = self._threads.submit(self._read_at, copy, chunk, point)
            self._round.append(_Reading(copy, chunk, future))
        for reading in self._round:
            reading.future.add_done_callback(lambda _: self._wake())

    def passed(self, events: ChangeEvents, time: ClusterTime) -> None:
        """What was placed of the stream: raw events, and a time; all earlier events are placed."""
        self._passed = time
        if not self._windows:
            return
        for event in events:
            for touch in touches(event):
                for reading in self._windows:
                    if reading.window is not None:
                        reading.window.pass_over(touch)

    def take(self) -> Sequence[EncodedChunk]:
        """Finished chunks, in the order in which they are to be placed, at once.

        Raises `SidecarError` when reading fails for longer than the back-off lasts.
        """
        self._settle()
        taken: list[EncodedChunk] = []
        while self._round and self._round[0].future.done():
            taken += self._taken(self._round.popleft())
        for reading in [each for each in self._windows if self._is_over(each)]:
            self._windows.remove(reading)
            taken += self._taken(reading)
        if not taken and self._trouble.error is not None:
            raise self._trouble.error
        return taken

    def apply(self, signal: Signal) -> SignalResult:
        """Do what a signal asks for, and say so, in the log too."""
        progress, answer = apply_signal(self._progress, signal, self._namespaces)
        self._move_to(progress)
        self._measure_anew()
        logger.log(
            logging.INFO if answer.is_accepted else logging.WARNING,
            "a signal is taken" if answer.is_accepted else "a signal is refused",
            extra=fields(
                id=signal.id, type=signal.type, channel=signal.channel, answer=answer.sentence
            ),
        )
        return answer

    def copy_again(self, reason: str) -> None:
        """Copy everything that is captured: changes are missing in the stream."""
        self._move_to(restarted(self._progress, reason))
        self._measure_anew()

    @property
    def error(self) -> str:
        """Why collections could not be read at the last attempt; empty while they can be."""
        return self._trouble.sentence

    def view(self) -> SnapshotView:
        """How far copies are."""
        return view_of(self._progress, self._delivered, self._clock() - self._measured_from_s)

    def close(self) -> None:
        """What is being read is given up; it is not in the progress."""
        self._reader.close()
        self._threads.shutdown(cancel_futures=True)

    @property
    def _may_read(self) -> bool:
        return not self._progress.is_paused and self._trouble.may_read

    def _settle(self) -> None:
        """Take over what is planned, and let threads do what can be done without a point."""
        if self._planning is not None and self._planning[1].done():
            planning, self._planning = self._planning, None
            self._plan(*planning)
        if not self._may_read:
            return
        if self._planning is None:
            chunks = _PLANNED_AHEAD * self._settings.threads
            # What waits for its schema, which may be for ever, takes no room from the others.
            ready = len(self._ready(is_plain=False)) + len(self._ready(is_plain=True))
            task = self._planner.next(self._progress, chunks - ready)
            if task is not None:
                self._planning = task, self._threads.submit(task.run)
                self._planning[1].add_done_callback(lambda _: self._wake())
        self._open_windows()

    def _plan(self, task: PlanTask, planning: Future[Plan]) -> None:
        try:
            plan = planning.result()
        except PyMongoError as error:
            self._failed(error, task.copy)
            return
        self._trouble.worked()
        if isinstance(plan, ResolvedRequest) and not plan.selected:
            logger.warning(
                "no collection that is captured is meant by a request",
                extra=fields(reason=plan.request.reason.value, names=plan.request.names),
            )
        self._move_to(plan.applied(self._progress))

    def _ready(self, *, is_plain: bool) -> list[tuple[CollectionSnapshot, Chunk]]:
        """Chunks that nobody reads and that can be encoded, in order."""
        return [
            (copy, chunk)
            for copy, chunk in self._unread(is_plain=is_plain)
            if self._is_ready(copy.database, copy.collection)
        ]

    def _unread(self, *, is_plain: bool) -> list[tuple[CollectionSnapshot, Chunk]]:
        """Chunks that nobody reads, in order."""
        readings = (*self._round, *self._windows)
        taken = {(reading.copy.number, reading.chunk) for reading in readings}
        return [
            (copy, chunk)
            for copy in self._progress.collections
            if (copy.is_plain or not self._reads_at_times) == is_plain
            for chunk in copy.chunks
            if (copy.number, chunk) not in taken
        ]

    def _open_windows(self) -> None:
        if self._passed == _NEVER:
            return
        room = _WINDOWS * self._settings.threads - len(self._windows)
        for copy, chunk in self._ready(is_plain=True)[: max(0, room)]:
            window = Window(copy.number, copy.database, copy.collection, chunk)
            future = self._threads.submit(self._read_since, copy, chunk, self._passed)
            self._windows.append(_Reading(copy, chunk, future, window))
            future.add_done_callback(lambda _: self._wake())

    def _is_over(self, reading: _Reading) -> bool:
        if not reading.future.done() or reading.window is None:
            return False
        if reading.window.is_void or reading.future.exception() is not None:
            return True
        reading.window.rows = reading.future.result().rows
        return reading.window.has_passed(self._passed)

    def _read_at(self, copy: CollectionSnapshot, chunk: Chunk, point: ClusterTime) -> _Read:
        rows = self._reader.at(copy, chunk, point)
        # Where a mark may be wanted, it is known only when the chunks before it are delivered.
        if copy.reason is SnapshotReason.INITIAL and (copy.is_planned or not copy.documents):
            return _Read(rows, len(rows.documents))
        found = encode_chunk(self._encoder, copy, rows.documents, point, rows.read_at_ms)
        return _Read(replace(rows, documents=()), len(rows.documents), found)

    def _read_since(self, copy: CollectionSnapshot, chunk: Chunk, point: ClusterTime) -> _Read:
        rows = self._reader.since(copy, chunk, point)
        return _Read(rows, len(rows.documents))

    def _taken(self, reading: _Reading) -> list[EncodedChunk]:
        """What was read, and the progress behind it; nothing where it is to be read again, or is
        not wanted any more."""
        try:
            read = reading.future.result()
        except PyMongoError as error:
            self._failed(error, reading.copy, is_exact=reading.window is None)
            return []
        self._trouble.worked()
        self._delivered += read.count
        window = reading.window
        before = self._progress
        copy = before.entry(reading.copy.number)
        if copy is None or reading.chunk not in copy.chunks or (window and window.is_void):
            return []
        found = read.parts
        if found is None:
            documents, time = read.rows.documents, self._point
            if window is not None:
                documents, time = window.documents(), read.rows.read_to
            place = _place(copy, before, _behind(before, copy, reading.chunk, read))
            found = encode_chunk(self._encoder, copy, documents, time, read.rows.read_at_ms, place)
        taken: list[EncodedChunk] = []
        chunk = reading.chunk
        for piece in found[:-1]:
            progress = self._progress.delivered(
                copy.number, chunk, piece.count, piece.rest_from, is_piece=True
            )
            self._move_to(progress)
            taken.append(EncodedChunk(piece.batch, copy.namespace, progress, piece.refused))
            chunk = Chunk(piece.rest_from, chunk.upper)
        last = found[-1]
        progress = _behind(self._progress, copy, chunk, replace(read, count=last.count))
        self._move_to(progress)
        return [*taken, EncodedChunk(last.batch, copy.namespace, progress, last.refused)]

    def _move_to(self, progress: SnapshotProgress) -> None:
        ended = progress.finished_count - self._progress.finished_count
        for each in progress.finished[-ended:] if ended else ():
            logger.info(
                "the copy of a collection ended",
                extra=fields(
                    collection=each.namespace,
                    outcome=each.outcome.value,
                    documents=each.documents,
                    **({} if each.note is None else {"note": each.note}),
                ),
            )
        self._progress = progress

    def _measure_anew(self) -> None:
        """The rate before a pause, or of another copy, says nothing of what follows."""
        self._delivered, self._measured_from_s = 0, self._clock()

    def _failed(
        self, error: PyMongoError, copy: CollectionSnapshot | None, *, is_exact: bool = False
    ) -> None:
        match classify_read_failure(error, copy, is_exact=is_exact):
            case ReadFailure.LATER:
                self._trouble.was_too_old(error)
            case ReadFailure.CAPPED if copy is not None:
                self._move_to(self._progress.without_cluster_time(copy.number))
            case ReadFailure.PLAIN:
                self._reads_at_times = False
                logger.warning(
                    "the server does not read at a cluster time: documents that change while they "
                    "are copied are left to the stream",
                    extra=fields(error=str(error)),
                )
            case ReadFailure.REFUSED if copy is not None:
                note = f"the server does not take its filter: {error}"
                self._move_to(self._progress.ended(copy.number, SnapshotOutcome.REFUSED, note))
            case ReadFailure.FATAL:
                self._trouble.was_refused(error)
            case _:
                self._trouble.failed(error)


def _behind(
    progress: SnapshotProgress, copy: CollectionSnapshot, chunk: Chunk, read: _Read
) -> SnapshotProgress:
    """The progress when a chunk is placed."""
    if read.rows.is_gone:
        return progress.ended(copy.number, SnapshotOutcome.DROPPED, "it was dropped meanwhile")
    return progress.delivered(copy.number, chunk, read.count, read.rows.rest_from)


def _place(
    copy: CollectionSnapshot, before: SnapshotProgress, after: SnapshotProgress
) -> ChunkPlacement:
    return ChunkPlacement(
        is_first=before.initial_documents == 0,
        is_first_of_collection=copy.documents == 0,
        is_last_of_collection=after.entry(copy.number) is None,
        is_last=before.initial is InitialSnapshot.RUNNING and after.initial is InitialSnapshot.DONE,
    )
