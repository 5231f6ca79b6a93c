"""Opens and reads segments on a worker thread, one read at a time.

While the pipeline sends a batch, the worker reads the next batch; the parser releases the GIL. The
worker owns the reader; the pipeline only starts a read and takes its result.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agent.cdc_raw.names import SegmentFiles, SegmentName
from agent.keystore.source import KeySource, open_segment, with_key_advice
from agent.pipeline.blocked_read import Missing
from agent.pipeline.read_attempts import ReadAttempts
from agent.segments.state import ReadRequest
from commitlog import (
    AnnouncedSchema,
    CounterHistory,
    EventBatch,
    EventFormat,
    ForeignFileError,
    Schema,
    SegmentKeyError,
)


class OpenSegment:
    """Reads one segment forward. Keeps its file open."""

    def __init__(
        self,
        event_format: EventFormat,
        counters: CounterHistory | None,
        keystore: KeySource,
        path: Path,
        name: SegmentName,
        position: int,
    ) -> None:
        self._event_format = event_format
        self._counters = counters
        self._keystore = keystore
        self._reader = open_segment(path, name.log, keystore, position, follow_links=False)
        self.interrupt = self._reader.interrupt
        """Aborts a running read from another thread: the read raises OSError."""

    @property
    def position(self) -> int:
        return self._reader.position

    @property
    def fingerprint(self) -> int:
        """Distinguishes the segment from other files with its name. Raises OSError."""
        return self._reader.fingerprint

    def read(
        self,
        schema: Schema,
        order: ReadRequest,
        *,
        max_events: int,
        max_bytes: int,
        abandoned: Sequence[Missing] = (),
        announced: AnnouncedSchema | None = None,
    ) -> EventBatch:
        """Reads the next requested events. Raises OSError; reports damage as gaps in the batch."""
        with with_key_advice(self._keystore):
            return self._reader.read(
                schema,
                self._event_format,
                limit=order.limit,
                complete=order.complete,
                expected_end=order.expected_end,
                completed_at=order.completed_at,
                max_events=max_events,
                max_bytes=max_bytes,
                counters=self._counters,
                abandoned=abandoned,
                announced=announced,
            )


OpenReader = Callable[[Path, SegmentName, int], OpenSegment]
"""Opens a segment at a position. Raises OSError, or CommitLogError if it cannot be parsed."""


def open_with(
    event_format: EventFormat,
    counters: CounterHistory | None = None,
    keystore: KeySource | None = None,
) -> OpenReader:
    """Returns a function that opens readers with the same event format and counter history.
    `keystore` contains the keys for encrypted segments."""
    return partial(OpenSegment, event_format, counters, keystore or KeySource(None))


@dataclass(frozen=True, slots=True)
class ReadResult:
    """The result of a read: a batch, or the error that aborted it."""

    order: ReadRequest
    schema: Schema
    batch: EventBatch | None = None
    fingerprint: int | None = None
    """Fingerprint of the file; None before its first section."""
    error: BaseException | None = None


class ReadWorker:
    """Runs reads. Keeps readers of the current segment and of open segments that left `cdc_raw`."""

    def __init__(
        self,
        directory: Path,
        open_reader: OpenReader,
        executor: Executor,
        on_done: Callable[[], None],
        attempts: ReadAttempts | None = None,
        *,
        clock: Callable[[], float],
    ) -> None:
        """`executor` has one worker, which calls `on_done`. `attempts` counts reads that kill the
        process. `clock` returns seconds."""
        self._directory = directory
        self._open_reader = open_reader
        self._executor = executor
        self._on_done = on_done
        self._attempts = attempts
        self._clock = clock
        self._readers: dict[SegmentName, OpenSegment] = {}
        self._inodes: dict[SegmentName, int | None] = {}
        self._running: Future[ReadResult] | None = None
        self._started_s = clock()
        self._refreshing: Future[bool] | None = None

    @property
    def is_busy(self) -> bool:
        """True while the worker is busy or a result has not been taken."""
        return self._running is not None or self._refreshing is not None

    @property
    def reading_since_s(self) -> float | None:
        """When the current read began; None if no read runs. Any thread may call it."""
        running = self._running
        return None if running is None or running.done() else self._started_s

    def is_opened(self, name: SegmentName) -> bool:
        return name in self._readers

    def start(
        self,
        order: ReadRequest,
        schema: Schema,
        max_events: int,
        max_bytes: int,
        abandoned: Sequence[Missing] = (),
        announced: AnnouncedSchema | None = None,
    ) -> None:
        """Starts a read that skips abandoned tables and columns. `announced`: the content of the
        schema-change topic."""
        readers, open_reader, attempts = self._readers, self._open_reader, self._attempts
        path, inodes = SegmentFiles(self._directory, order.name).log, self._inodes

        def work() -> ReadResult:
            try:
                with attempts.reading(order.name, order.position) if attempts else nullcontext():
                    reader = readers.get(order.name)
                    if reader is None or reader.position != order.position:
                        readers.pop(order.name, None)
                        reader = readers[order.name] = open_reader(path, order.name, order.position)
                        inodes[order.name] = _inode(path)
                        if readers is not self._readers:
                            # The reader was opened after `abandon` interrupted the others.
                            reader.interrupt()
                        _check_fingerprint(reader, order)
                    batch = reader.read(
                        schema,
                        order,
                        max_events=max_events,
                        max_bytes=max_bytes,
                        abandoned=abandoned,
                        announced=announced,
                    )
                    fingerprint = order.fingerprint
                    if fingerprint is None and batch.end_position > 0:
                        fingerprint = reader.fingerprint
            except BaseException as error:
                if isinstance(error, SegmentKeyError | ForeignFileError):
                    # An open reader never reloads its keys or reopens its file.
                    readers.pop(order.name, None)
                return ReadResult(order, schema, error=error)
            return ReadResult(order, schema, batch, fingerprint)

        self._started_s = self._clock()
        self._running = self._executor.submit(work)
        self._running.add_done_callback(lambda _: self._on_done())

    def refresh(self, ask: Callable[[], bool]) -> None:
        """Lets the worker request a newer schema or schema ids."""
        self._refreshing = self._executor.submit(ask)
        self._refreshing.add_done_callback(lambda _: self._on_done())

    def take(self) -> ReadResult | None:
        """Returns the result of a finished read once, or None."""
        if self._refreshing is not None and self._refreshing.done():
            self._refreshing.result()
            self._refreshing = None
        if self._running is None or not self._running.done():
            return None
        result = self._running.result()
        self._running = None
        return result

    def is_replaced(self, name: SegmentName) -> bool:
        """Whether a different file has replaced the segment since it was read."""
        read = self._inodes.get(name)
        found = _inode(SegmentFiles(self._directory, name).log)
        return read is not None and found is not None and found != read

    def forget(self, name: SegmentName) -> None:
        """Drops the reader of a segment that left `cdc_raw`."""
        self._readers.pop(name, None)
        self._inodes.pop(name, None)

    def close(self, name: SegmentName) -> None:
        """Closes the file of a segment. Not allowed while the segment is read."""
        self._readers.pop(name, None)

    def abandon(self) -> None:
        """Drops all readers and aborts a running read."""
        readers, self._readers = self._readers, {}
        self._running = None
        for reader in tuple(readers.values()):
            reader.interrupt()


def _check_fingerprint(reader: OpenSegment, order: ReadRequest) -> None:
    """Raises ForeignFileError if a different file has replaced a partly read segment."""
    if order.fingerprint not in (None, reader.fingerprint):
        raise ForeignFileError(
            f"{order.name}: a different file has replaced the segment, which was read up to "
            f"{order.position}; the rest of the original segment is not in cdc_raw"
        )


def _inode(path: Path) -> int | None:
    try:
        return path.lstat().st_ino
    except OSError:
        return None
