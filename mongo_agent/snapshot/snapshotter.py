"""Snapshots alongside the stream: planned ahead, read on threads, delivered in stream order.

At a point where the output contains all earlier events and no later events, the agent reads a round
of chunks as of that time. The stream waits until the chunks are delivered, so the state of each
document matches its place in the output. For collections that the server cannot read at a cluster
time, the agent uses windows (`windows`).

Everything here runs on the pipeline's thread; other threads only read and encode, and call `wake`.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace

from pymongo.errors import PyMongoError

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.documents import NEVER, ClusterTime
from mongo_agent.encoder import ChangeEvents, MongoEncoder
from mongo_agent.server.commands import Client
from mongo_agent.server.errors import authorisation_message, error_text
from mongo_agent.signals.signal import Signal, SignalResult
from mongo_agent.snapshot.apply_signal import apply_signal
from mongo_agent.snapshot.chunk_reads import ChunkContent, ChunkRead, ChunkReads, WaitForIds
from mongo_agent.snapshot.collection_reader import CollectionReader, ReadingStoppedError
from mongo_agent.snapshot.ddl_events import (
    ReplacementRules,
    after_ddl_event,
    after_replacement,
    ddl_events,
)
from mongo_agent.snapshot.encoding import ChunkPart, EncodedChunk, edge_markers, encode_chunk
from mongo_agent.snapshot.planner import Plan, Planner
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.read_failures import ReadFailure, classify_read_failure, failure_text
from mongo_agent.snapshot.read_retry import FailingCollections, ReadRetry
from mongo_agent.snapshot.records import (
    Chunk,
    CollectionSnapshot,
    ReplacedCollection,
    SnapshotOutcome,
)
from mongo_agent.snapshot.settings import SnapshotSettings, restarted
from mongo_agent.snapshot.topic_sweep import Records, TopicSweep
from mongo_agent.snapshot.view import SnapshotView, view_of
from mongo_agent.snapshot.windows import touches
from sidecar.errors import SidecarError
from sidecar.logs import fields
from sidecar.process.wait_policy import RetryPause

logger = logging.getLogger(__name__)

_PLANNED_AHEAD = 2
"""Chunks planned ahead for each thread."""
_WINDOWS = 4
"""Chunks for each thread that may wait in windows."""


class Snapshotter:
    """The snapshots of one stream: `begin` a round at a point, `take` the finished chunks."""

    def __init__(
        self,
        client: Client,
        encoder: MongoEncoder,
        namespaces: Namespaces,
        settings: SnapshotSettings,
        progress: SnapshotProgress,
        *,
        wake: Callable[[], None],
        new_pause: Callable[[], RetryPause],
        waits_when_denied: bool = False,
        is_ready: Callable[[str, str], bool] = lambda database, collection: True,
        wait_for_ids: WaitForIds | None = None,
        rules: ReplacementRules | None = None,
        records: Records | None = None,
        may_repeat: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """With `waits_when_denied` the agent retries rejected credentials without a limit.

        `is_ready` returns whether documents of a database and collection can be encoded;
        `ChunkReads` describes `wait_for_ids`; `rules` apply to drops and renames, and `records`
        reads the topics of collections. With `may_repeat` the sink may already have events after
        the stream's position. `clock` is in seconds.
        """
        self._is_ready = is_ready
        self._encoder = encoder
        self._namespaces = namespaces
        self._settings = settings
        self._progress = progress
        self._clock = clock
        self._failing = FailingCollections(new_pause, clock)
        self._reader = CollectionReader(client, settings)
        self._planner = Planner(
            client, self._reader, namespaces, settings, self._is_readable, self._failing.turns
        )
        self._reads = ChunkReads(
            self._reader, encoder, settings.threads, wake=wake, wait_for_ids=wait_for_ids
        )
        self.rules = rules or ReplacementRules()
        self._sweep = TopicSweep(self._reader, encoder, records, self._reads.submit, clock)
        self._acknowledged: tuple[ReplacedCollection, ...] = ()
        self._planning: tuple[CollectionSnapshot | None, Future[Plan]] | None = None
        self._round: deque[ChunkRead] = deque()
        self._windows: list[ChunkRead] = []
        self._may_repeat = may_repeat
        self._present: Future[ClusterTime] | None = None
        self._point = NEVER
        self._passed = NEVER
        self._scanned = NEVER
        self._gone: dict[int, ClusterTime] = {}
        self._reread: set[tuple[int, Chunk]] = set()
        self._reads_at_times = settings.has_index_bounds
        self._retry = ReadRetry(
            new_pause(), clock, settings.delay_ms, waits_when_denied=waits_when_denied
        )
        self._reset_rate()

    @property
    def progress(self) -> SnapshotProgress:
        """The progress after the chunks that `take` returned."""
        return self._progress

    @property
    def wants_point(self) -> bool:
        """Whether a round is ready to begin at the next point."""
        self._settle()
        if self.holds_stream or not self._may_read:
            return False
        if self._sweep.is_ready:
            return True
        ready = len(self._ready(is_plain=False))
        return ready >= self._settings.threads or (ready > 0 and self._planning is None)

    @property
    def holds_stream(self) -> bool:
        """Whether a round is being read; the stream must not advance meanwhile."""
        return bool(self._round) or self._sweep.is_reading

    def begin(self, point: ClusterTime) -> None:
        """Read a round at a point. The output contains all events up to it, and no later events.

        Reads nothing while events may be repeated (`may_repeat`)."""
        if self._round:
            raise ValueError("a round begins before the previous round is taken")
        if not self._is_after_repeats(point):
            return
        self._point = point
        if self._sweep.is_ready:
            self._sweep.begin(point)
        for snapshot, chunk in self._ready(is_plain=False)[: self._settings.threads]:
            self._round.append(self._reads.read_at(snapshot, chunk, point))

    def apply_ddl_events(self, events: ChangeEvents, *, is_merged: bool) -> None:
        """Apply the drops and renames of a batch at its place, before `note_passed`. With
        `is_merged` the stream merges several shards."""
        for event in ddl_events(events):
            before = self._progress
            after = after_ddl_event(before, event, self._namespaces, is_merged=is_merged)
            self._move_to(after_replacement(after, event, self._namespaces, self.rules))
            if event.to is not None and after.collections != before.collections:
                is_captured = self._namespaces.captures(*event.to)
                logger.log(
                    logging.INFO if is_captured else logging.WARNING,
                    "a collection was renamed during its snapshot, which restarts"
                    if is_captured
                    else "a collection was renamed during its snapshot to a name that is not "
                    "captured; the remaining documents have no messages",
                    extra=fields(
                        collection=f"{event.database}.{event.collection}", to=".".join(event.to)
                    ),
                )

    def acknowledge(self, progress: SnapshotProgress, time: ClusterTime) -> None:
        """Record the stored progress and time: all earlier messages are in the topics."""
        self._acknowledged = tuple(each for each in progress.replaced if each.since <= time)

    @property
    def reported(self) -> Sequence[ReplacedCollection]:
        """Replaced collections that wait for a command."""
        can_delete = not self.rules.no_deletes
        found = self._progress.replaced
        return [each for each in found if not (each.is_requested and can_delete)]

    def note_passed(self, events: ChangeEvents, time: ClusterTime, scanned: ClusterTime) -> None:
        """Record that the output contains these events, and all events up to `time`.

        All drops and renames up to `scanned` are applied.
        """
        self._scanned = scanned
        self._passed = time
        if not self._windows:
            return
        for event in events:
            for touch in touches(event):
                for read in self._windows:
                    if read.window is not None:
                        read.window.pass_over(touch)

    def take(self) -> Sequence[EncodedChunk]:
        """Return finished chunks, to deliver at once and in this order.

        Raises `SidecarError` when reads fail more often than `new_pause` allows.
        """
        self._settle()
        taken: list[EncodedChunk] = []
        while self._round and self._round[0].future.done():
            taken += self._take_isolated(self._round.popleft())
        for read in [each for each in self._windows if self._is_over(each)]:
            self._windows.remove(read)
            taken += self._take_isolated(read)
        if (swept := self._sweep.take()) is not None:
            if swept.is_last and swept.entry in self._progress.replaced:
                self._move_to(self._progress.without_replaced(swept.entry.namespace))
            taken.append(EncodedChunk(swept.deletes, self._progress))
        if not taken and self._retry.error is not None:
            raise self._retry.error
        return taken

    def apply(self, signal: Signal) -> SignalResult:
        progress, result = apply_signal(self._progress, signal, self._namespaces, self.rules)
        self._failing.retry()
        self._move_to(progress)
        self._reset_rate()
        logger.log(
            logging.INFO if result.is_accepted else logging.WARNING,
            "signal accepted" if result.is_accepted else "signal rejected",
            extra=fields(
                id=signal.id, type=signal.type, channel=signal.channel, result=result.message
            ),
        )
        return result

    def restart(self, reason: str) -> None:
        """Take a new snapshot of everything captured, because the stream lost changes."""
        self._move_to(restarted(self._progress, reason))
        self._reset_rate()

    @property
    def error(self) -> str:
        """Why the last read failed; empty after a successful read."""
        return self._retry.message or self._sweep.error or self._failing.message

    def view(self) -> SnapshotView:
        elapsed_s = self._clock() - self._measured_from_s
        return view_of(self._progress, self._delivered, elapsed_s, self._failing.reasons)

    def close(self) -> None:
        """Abandon running reads; they are not in the progress."""
        self._sweep.close()
        self._reads.close()

    @property
    def _may_read(self) -> bool:
        return not self._progress.is_paused and self._retry.may_read

    def _settle(self) -> None:
        """Apply finished plans and submit work that needs no point."""
        if self._planning is not None and self._planning[1].done():
            planning, self._planning = self._planning, None
            self._plan(*planning)
        if not self._may_read:
            return
        wanted = [each for each in self._progress.replaced if each.is_requested]
        self._sweep.settle([each for each in wanted if each in self._acknowledged])
        if self._planning is None:
            chunks = _PLANNED_AHEAD * self._settings.threads
            # Chunks that wait for a schema, or fail, must not prevent plans for other collections.
            ready = [*self._ready(is_plain=False), *self._ready(is_plain=True)]
            ready = [each for each in ready if not self._failing.turns(each[0])]
            task = self._planner.next(self._progress, chunks - len(ready))
            if task is not None:
                planned, run = task
                self._planning = planned, self._reads.submit(run)
        self._open_windows()

    def _plan(self, snapshot: CollectionSnapshot | None, planning: Future[Plan]) -> None:
        try:
            plan = planning.result()
        except (SidecarError, MemoryError, ReadingStoppedError):
            raise
        except Exception as error:
            if snapshot is None and not isinstance(error, PyMongoError):
                raise
            self._handle_failure(error, snapshot)
            return
        self._retry.note_success()
        self._move_to(plan(self._progress))

    def _ready(self, *, is_plain: bool) -> list[tuple[CollectionSnapshot, Chunk]]:
        """Return the unread chunks that may be read and encoded, in order."""
        ready = [
            (snapshot, chunk)
            for snapshot, chunk in self._unread(is_plain=is_plain)
            if self._is_named(snapshot) and self._is_readable(snapshot)
        ]
        return sorted(ready, key=lambda each: self._failing.turns(each[0]))

    def _is_readable(self, snapshot: CollectionSnapshot) -> bool:
        """Whether a collection is not paused, and its documents can be encoded."""
        is_ready = self._is_ready(snapshot.database, snapshot.collection)
        return is_ready and self._failing.may_read(snapshot)

    def _is_named(self, snapshot: CollectionSnapshot) -> bool:
        """Whether a read at the current point finds the collection under its name."""
        return max(snapshot.since, self._gone.get(snapshot.number, NEVER)) <= self._scanned

    def _unread(self, *, is_plain: bool) -> list[tuple[CollectionSnapshot, Chunk]]:
        """Return the chunks that no thread reads, in order."""
        reads = (*self._round, *self._windows)
        taken = {(read.snapshot.number, read.chunk) for read in reads}
        return [
            (snapshot, chunk)
            for snapshot in self._progress.collections
            if (snapshot.is_plain or not self._reads_at_times) == is_plain
            for chunk in snapshot.chunks
            if (snapshot.number, chunk) not in taken
        ]

    def _open_windows(self) -> None:
        if self._passed == NEVER:
            return
        room = _WINDOWS * self._settings.threads - len(self._windows)
        ready = self._ready(is_plain=True)[: max(0, room)]
        if ready and self._is_after_repeats(self._passed):
            for snapshot, chunk in ready:
                self._windows.append(self._reads.read_since(snapshot, chunk, self._passed))

    def _is_after_repeats(self, point: ClusterTime) -> bool:
        """Whether a point is after all events that an earlier sink or process may have published.

        Before that, a read would publish an older state after a newer one, for a consumer that
        ignores the repeated events."""
        if not self._may_repeat:
            return True
        if self._present is None:
            self._present = self._reads.submit(self._reader.cluster_time)
        if not self._present.done():
            return False
        try:
            present = self._present.result()
        except PyMongoError as error:
            self._present = None
            self._handle_failure(error, None)
            return False
        self._retry.note_success()
        self._may_repeat = max(point, self._scanned) < present
        return not self._may_repeat

    def _is_over(self, read: ChunkRead) -> bool:
        if not read.future.done() or read.window is None:
            return False
        if read.window.is_void or read.future.exception() is not None:
            return True
        # The window ends once all events up to the time after the read are delivered.
        return read.future.result().rows.read_to <= self._passed

    def _take_isolated(self, read: ChunkRead) -> list[EncodedChunk]:
        """Like `_take_read`, but an error in a read or its messages affects only its collection."""
        try:
            return self._take_read(read)
        except (SidecarError, MemoryError, ReadingStoppedError):
            raise
        except Exception as error:
            self._handle_failure(error, read.snapshot, is_exact=read.window is None)
            return []

    def _take_read(self, read: ChunkRead) -> list[EncodedChunk]:
        """Return the messages of a read and the progress after them; empty if the read must be
        repeated or is no longer wanted."""
        content = read.future.result()
        window, before = read.window, self._progress
        snapshot = before.entry(read.snapshot.number)
        if snapshot is None or read.chunk not in snapshot.chunks or (window and window.is_void):
            return []
        if content.rows.gone_at is not None:
            # If the stream contains a rename, it decides how to continue.
            gone_at = self._gone.setdefault(snapshot.number, content.rows.gone_at)
            if gone_at > self._scanned:
                return []
        parts = content.parts
        if parts is None:
            documents, time = content.rows.documents, self._point
            if window is not None:
                documents, time = window.untouched(documents), content.rows.read_to
            after = _after(before, snapshot, read.chunk, content)
            edges = edge_markers(snapshot, before, after)
            parts = encode_chunk(
                self._encoder, snapshot, documents, time, content.rows.read_at_ms, edges
            )
        if self._is_in_doubt(snapshot, read.chunk, parts):
            return []
        self._retry.note_success()
        self._failing.note_success(snapshot.number)
        self._reread.discard((snapshot.number, read.chunk))
        self._delivered += content.count
        taken: list[EncodedChunk] = []
        chunk = read.chunk
        for part in parts[:-1]:
            progress = self._progress.delivered(
                snapshot.number, chunk, part.count, part.rest_from, is_piece=True
            )
            self._move_to(progress)
            taken.append(EncodedChunk(part.batch, progress, part.rejected))
            chunk = Chunk(part.rest_from, chunk.upper)
        last = parts[-1]
        progress = _after(self._progress, snapshot, chunk, replace(content, count=last.count))
        self._move_to(progress)
        return [*taken, EncodedChunk(last.batch, progress, last.rejected)]

    def _is_in_doubt(
        self, snapshot: CollectionSnapshot, chunk: Chunk, parts: Sequence[ChunkPart]
    ) -> bool:
        """Whether bytes may have been damaged in transit. They become dead letters only if a
        second read returns damaged bytes, too."""
        damaged = [each for part in parts for each in part.batch.failures if each.is_malformed]
        if not damaged or (snapshot.number, chunk) in self._reread:
            return False
        self._reread.add((snapshot.number, chunk))
        reason = f"{snapshot.namespace}: a document is damaged: {damaged[0].cause}."
        self._failing.note_failure(snapshot, reason)
        return True

    def _move_to(self, progress: SnapshotProgress) -> None:
        ended = progress.finished_count - self._progress.finished_count
        for each in progress.finished[-ended:] if ended else ():
            logger.info(
                "the snapshot of a collection ended",
                extra=fields(
                    collection=each.namespace,
                    outcome=each.outcome.value,
                    documents=each.documents,
                    **({} if each.note is None else {"note": each.note}),
                ),
            )
        self._progress = progress
        self._failing.retain({each.number for each in progress.collections})

    def _reset_rate(self) -> None:
        """Restart the measurement, because the rate before a pause or signal no longer applies."""
        self._delivered, self._measured_from_s = 0, self._clock()

    def _handle_failure(
        self, error: Exception, snapshot: CollectionSnapshot | None, *, is_exact: bool = False
    ) -> None:
        failure = classify_read_failure(error, snapshot, is_exact=is_exact)
        if snapshot is not None and failure in (ReadFailure.COLLECTION, ReadFailure.LATER):
            logger.debug("traceback of the failed read", exc_info=error)
            is_too_old = failure is ReadFailure.LATER
            reason = failure_text(error, snapshot)
            self._failing.note_failure(snapshot, reason, is_too_old=is_too_old)
            return
        assert isinstance(error, PyMongoError)
        if snapshot is not None:
            self._failing.note_passed_over(snapshot)
        match failure:
            case ReadFailure.CAPPED if snapshot is not None:
                self._move_to(self._progress.without_cluster_time(snapshot.number))
            case ReadFailure.PLAIN:
                self._reads_at_times = False
                logger.warning(
                    "the server does not read at a cluster time; the snapshot skips documents "
                    "that change during its reads, and the stream delivers them",
                    extra=fields(error=error_text(error)),
                )
            case ReadFailure.REJECTED if snapshot is not None:
                note = f"the server rejects the filter: {error_text(error)}"
                self._move_to(self._progress.ended(snapshot.number, SnapshotOutcome.REFUSED, note))
            case ReadFailure.FATAL:
                self._retry.note_access_denied(error)
            case ReadFailure.DENIED:
                self._retry.note_failure(error, authorisation_message(error_text(error)))
            case _:
                self._retry.note_failure(error)


def _after(
    progress: SnapshotProgress, snapshot: CollectionSnapshot, chunk: Chunk, content: ChunkContent
) -> SnapshotProgress:
    if content.rows.gone_at is not None:
        return progress.ended(
            snapshot.number, SnapshotOutcome.DROPPED, "dropped during the snapshot"
        )
    return progress.delivered(snapshot.number, chunk, content.count, content.rows.rest_from)
