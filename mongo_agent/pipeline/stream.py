"""One stream and the snapshots of its collections, in one order.

    reader ──reads──▶┐
                     ├─▶ stream ──batches, each with the position after it──▶ delivery
    snapshotter ─chunks─▶┘

The stream waits while chunks are read at one of its points, and the reader reads ahead. Between
two rounds of chunks, the stream places the batches that are ready, so neither starves the other.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from mongo_agent.change_stream.position import is_high_water_mark
from mongo_agent.change_stream.reader import StreamBatch, StreamReader
from mongo_agent.change_stream.tokens import UnreadableEventError, token_at
from mongo_agent.dead_letters import DeadLetterWriter, Unreadable
from mongo_agent.encoder import ChangeEvents
from mongo_agent.metrics import TOO_LARGE, MongoMetrics
from mongo_agent.offsets import StreamOffset
from mongo_agent.pipeline.batches import LastMessage, OwnMessages, PlacedBatch, last_transaction
from mongo_agent.pipeline.snapshot_point import StreamWatermark, exact_point
from mongo_agent.signals.signal import Signal, SignalResult, signals_among
from mongo_agent.snapshot.ddl_events import has_ddl_events
from mongo_agent.snapshot.encoding import EncodedChunk
from mongo_agent.snapshot.snapshotter import Snapshotter
from sidecar.delivery.delivery import DatedBatch
from sidecar.logs import fields

logger = logging.getLogger(__name__)

Add = Callable[[str, DatedBatch[StreamOffset], StreamOffset], None]
"""Adds a batch. Arguments: the name of the stream, the batch, and the position before it."""


class Stream:
    """Places the batches and chunks of one stream, on the pipeline's thread."""

    def __init__(
        self,
        name: str,
        reader: StreamReader,
        snapshotter: Snapshotter,
        position: StreamOffset,
        *,
        add: Add,
        dead_letters: DeadLetterWriter,
        signal_collection: str | None,
        metrics: MongoMetrics,
        is_streamed: bool = True,
        is_merged: bool = False,
    ) -> None:
        """`position` is where reader and snapshotter start; `add` receives the batches. Inserts
        into `signal_collection` are signals. Without `is_streamed` the position does not advance,
        so a stream can start there later. With `is_merged` the stream merges several shards."""
        self.name = name
        self.reader = reader
        self.snapshotter = snapshotter
        self.position = position
        """The position after everything that was placed."""
        self._add = add
        self.placed = _placed_at(position, is_merged=is_merged)
        self._dead_letters = dead_letters
        self._signal_collection = signal_collection
        self._metrics = metrics
        self._is_streamed = is_streamed
        self._is_round_due = False
        self.streamed, self.snapshotted = LastMessage(), LastMessage()
        """The latest messages of the stream and of a snapshot since the start."""
        self.last_transaction = None if position.transaction is None else position.transaction.id
        self._chunks: deque[EncodedChunk] = deque()
        self._kept = 0

    def tick(self) -> bool:
        """Place the next chunks or the next batch of the stream; return whether there was one.
        Raises the error that ended the stream."""
        if self._place_chunks():
            self._is_round_due = False
            return True
        if self._chunks or self.snapshotter.holds_stream:
            return False
        following = self.reader.peek()
        if (following is None or self._is_round_due) and self._begin_round(following):
            return True
        if following is not None:
            return self._place_read(following)
        if self.reader.fatal is not None:
            raise self.reader.fatal
        return False

    def apply(self, signal: Signal) -> SignalResult:
        """Apply a signal and record its effect in the position without waiting for the stream.
        While chunks wait to be placed, the next reply of the stream records the effect."""
        answer = self.snapshotter.apply(signal)
        before, progress = self.position, self.snapshotter.progress
        if not self._chunks and progress is not before.snapshot:
            self.position = replace(before, snapshot=progress)
            self._add(self.name, OwnMessages((), self.position), before)
        return answer

    def stop(self) -> None:
        self.reader.stop()

    def close(self) -> None:
        self.snapshotter.close()
        self.reader.close()

    def _begin_round(self, following: StreamBatch | None) -> bool:
        """Begin a round of chunks at the current point of the stream, if possible."""
        if not self.snapshotter.wants_point:
            return False
        point = exact_point(self.placed, following)
        if point is None:
            return False
        self.snapshotter.begin(point)
        return self.snapshotter.holds_stream

    def _place_chunks(self) -> bool:
        worked = False
        while (chunk := self._next_chunk()) is not None:
            if not self._keep_unreadable(chunk.rejected):
                break
            self._chunks.popleft()
            before = self.position
            self.position = replace(before, snapshot=chunk.progress)
            self.snapshotted.note(chunk.batch)
            self._count(chunk.batch.counts)
            self._add(self.name, PlacedBatch(chunk.batch, before, self.position), before)
            worked = True
        return worked

    def _next_chunk(self) -> EncodedChunk | None:
        if not self._chunks:
            self._chunks.extend(self.snapshotter.take())
        return self._chunks[0] if self._chunks else None

    def _place_read(self, read: StreamBatch) -> bool:
        if not self._keep_read_losses(read):
            return False
        self.reader.take()
        # A round may begin between two batches, but batches that are ready go first.
        self._is_round_due = self.reader.peek() is None
        # The position after the batch includes their effect, so a restart does not repeat them.
        for signal in signals_among(read.events, self._signal_collection):
            self._metrics.count_answer(signal, self.snapshotter.apply(signal))
        if has_ddl_events(read.batch.skipped, read.batch.counts):
            self.snapshotter.apply_ddl_events(read.events, is_merged=self.placed.is_merged)
        before = self.position
        position = read.position if self._is_streamed else before.stream
        after = StreamOffset(position, read.transaction, self.snapshotter.progress)
        batch = PlacedBatch(read.batch, before, after, read.events)
        self.position = batch.position_after(len(batch))
        self.placed = self.placed.after(read)
        self.streamed.note(read.batch)
        self.last_transaction = last_transaction(read.batch) or self.last_transaction
        self._count(read.batch.counts)
        for reason, count in read.batch.skipped.items():
            self._metrics.skipped_events.labels(reason).inc(count)
        if read.left_out:
            self._metrics.skipped_events.labels(TOO_LARGE).inc(read.left_out)
            logger.warning(
                "events larger than 16 MiB are skipped (cursor.oversize.handling.mode=skip)",
                extra=fields(events=read.left_out, up_to=str(read.position.time)),
            )
        self._add(self.name, batch, before)
        self.snapshotter.note_passed(read.events, self.placed.through, self.placed.scanned)
        return True

    def _keep_read_losses(self, read: StreamBatch) -> bool:
        """Record a loss and dead letters; return False until all are recorded."""
        if (lost := read.lost) is not None and not self._kept:
            if not self._dead_letters.note_gap(lost):
                return False
            self._kept = 1
            if lost.is_resnapshot:
                self.snapshotter.restart(lost.reason)
        unreadable = (
            Unreadable(read.events[each.event], _place_of(read.events, each.event), each.cause)
            for each in read.batch.failures
        )
        return self._keep_unreadable(unreadable, first=0 if lost is None else 1)

    def _keep_unreadable(self, records: Iterable[Unreadable], *, first: int = 0) -> bool:
        """Store records, numbered from `first`, each only once over several ticks; return False
        until all are stored."""
        for index, record in enumerate(records, first):
            if index >= self._kept:
                if not self._dead_letters.keep_unreadable(record):
                    return False
                self._kept = index + 1
        self._kept = 0
        return True

    def _count(self, counts: Mapping[tuple[str, str], int]) -> None:
        for (collection, kind), count in counts.items():
            self._metrics.events.labels(collection, kind).inc(count)


def _placed_at(position: StreamOffset, *, is_merged: bool) -> StreamWatermark:
    """Return the watermark at a position. A token without an event, or a time without a token,
    precedes all events of that time."""
    stream = position.stream
    if not stream.token or is_high_water_mark(stream.token):
        return StreamWatermark(stream.time.before, stream.time, is_merged=is_merged)
    return StreamWatermark(stream.time, stream.time, is_merged=is_merged)


def _place_of(events: ChangeEvents, index: int) -> str:
    try:
        return str(token_at(events, index))
    except UnreadableEventError:
        return "an event whose bytes cannot be decoded"
