"""A cdc_raw of files whose content is in memory, and what a pipeline over it needs."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from agent.cdc_raw.names import SegmentName
from agent.segments.state import ReadRequest
from commitlog import AnnouncedSchema, Schema, SchemaChanges
from sidecar.encoding import Unregistered
from sidecar.errors import OffsetSaveError
from sidecar.events import Message, ProduceArguments
from tests.support.segments.batches import produce_arguments

HEADER_BYTES = 20
WRITTEN_AT_S = 1_700_000_000
"""The last write to a segment of a node."""
RECORD_BYTES = 10


@dataclass(frozen=True)
class Record:
    """A mutation: the table that it needs, how many events it gives, where it ends."""

    start: int
    end: int
    table: str
    events: int
    is_damaged: bool = False


@dataclass
class Log:
    """The content of a segment, shared by all links and readers of it."""

    name: SegmentName
    records: list[Record] = field(default_factory=list)
    error: BaseException | None = None
    """Raised by every read."""
    reads: int = 0
    fingerprint: int = 1

    @property
    def end(self) -> int:
        return self.records[-1].end if self.records else HEADER_BYTES

    def add(self, *events: int, table: str = "ks.t", is_damaged: bool = False) -> "Log":
        for count in events:
            start = self.end
            self.records.append(Record(start, start + RECORD_BYTES, table, count, is_damaged))
        return self

    def ids(self) -> list[str]:
        """The identity of every event, in order."""
        return [
            event_id(self.name, record, index)
            for record in self.records
            if not record.is_damaged
            for index in range(record.events)
        ]


def event_id(name: SegmentName, record: Record, index: int) -> str:
    return f"{name.id}/{record.end}/{index}"


@dataclass(frozen=True)
class FakeGap:
    start: int
    end: int | None
    cause: str


@dataclass(frozen=True)
class FakeBlocked:
    position: int
    table_id: str
    column: str | None
    reason: str
    unregistered: Sequence[Unregistered] = ()
    is_unannounced: bool = False


@dataclass(frozen=True)
class FakeLost:
    start: int
    end: int
    table_id: str
    reason: str


@dataclass(frozen=True)
class FakeBatch:
    """Events of whole records."""

    name: SegmentName
    start_position: int
    end_position: int
    records: tuple[Record, ...]
    stop: Literal["full", "end", "blocked", "schema"]
    blocked: FakeBlocked | None = None
    gaps: Sequence[FakeGap] = ()
    lost: Sequence[FakeLost] = ()
    schema_changes: SchemaChanges | None = None
    change_start: int | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(record.events for record in self.records)

    @property
    def size_bytes(self) -> int:
        return 10 * len(self)

    @property
    def mutations(self) -> int:
        return len(self.records)

    @property
    def counts(self) -> Mapping[tuple[str, str], int]:
        counts: dict[tuple[str, str], int] = {}
        for record in self.records:
            counts[record.table, "i"] = counts.get((record.table, "i"), 0) + record.events
        return counts

    @property
    def last_write_ts_us(self) -> int | None:
        return 1_000_000 * self.end_position if self.records else None

    def position_after(self, events: int, /) -> int:
        if events == len(self):
            return self.end_position
        position, done = self.start_position, 0
        for record in self.records:
            done += record.events
            if done > events:
                break
            position = record.end
        return position

    def messages(self, first: int, stop: int, /) -> Sequence[Message]:
        ids = [
            (record, event_id(self.name, record, index))
            for record in self.records
            for index in range(record.events)
        ]
        return [
            (
                record.table,
                b'"key"',
                f'"{text}"'.encode(),
                [("cdc.id", text.encode()), ("cdc.source", text.encode())],
                0,
            )
            for record, text in ids[first:stop]
        ]

    def produce_arguments(
        self,
        first: int,
        stop: int,
        partitions: Callable[[str], int | None],
        on_delivery: Callable[..., None],
        /,
    ) -> Sequence[ProduceArguments]:
        return produce_arguments(self.messages(first, stop), partitions, on_delivery)

    def ndjson(self, first: int, stop: int, /) -> bytes:
        return b"".join((message[2] or b"null") + b"\n" for message in self.messages(first, stop))


class FakeReader:
    """Reads a `Log`: every record is a section."""

    def __init__(self, raw: "Raw", log: Log, position: int) -> None:
        self._raw = raw
        self._log = log
        self.position = position
        self.is_interrupted = False

    @property
    def fingerprint(self) -> int:
        return self._log.fingerprint

    def interrupt(self) -> None:
        self.is_interrupted = True

    def read(
        self,
        schema: Schema,
        order: ReadRequest,
        *,
        max_events: int,
        max_bytes: int,
        abandoned: Sequence[tuple[str, str | None]] = (),
        announced: AnnouncedSchema | None = None,
    ) -> FakeBatch:
        self._log.reads += 1
        self._raw.orders.append((self._log.name.id, self.position, order.limit, order.complete))
        if self._log.error is not None:
            raise self._log.error
        start, taken, gaps, events = self.position, list[Record](), list[FakeGap](), 0
        stop: Literal["full", "end", "blocked"] = "end"
        blocked: FakeBlocked | None = None
        lost = list[FakeLost]()
        for record in self._log.records:
            if record.end <= self.position:
                continue
            if order.limit is not None and record.end > order.limit:
                break
            if events >= max_events:
                stop = "full"
                break
            if record.table not in self._raw.tables_of(schema):
                reason = f"{record.table} is not known"
                if (record.table, None) not in abandoned:
                    stop, blocked = "blocked", FakeBlocked(record.end, record.table, None, reason)
                    break
                start_lost = record.start
                if lost and (lost[-1].end, lost[-1].table_id) == (record.start, record.table):
                    start_lost = lost.pop().start
                lost.append(FakeLost(start_lost, record.end, record.table, reason))
            elif record.is_damaged:
                gaps.append(FakeGap(record.start, record.end, "the payload CRC does not match"))
            else:
                taken.append(record)
                events += record.events
            self.position = record.end
        return FakeBatch(
            self._log.name, start, self.position, tuple(taken), stop, blocked, gaps, lost
        )


class Raw:
    """The directory, and the schema that its readers need."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir()
        self.commitlog = directory.parent / "commitlog"
        self.commitlog.mkdir()
        self.logs: dict[SegmentName, Log] = {}
        self.orders: list[tuple[int, int, int | None, bool]] = []
        self.open_error: Exception | None = None
        self._schemas: list[tuple[Schema, frozenset[str]]] = []

    def segment(self, segment_id: int, *events: int, idx: str | None = None) -> Log:
        """A segment that the node links; `events` are counts, one a record."""
        log = Log(SegmentName(segment_id, 7))
        log.add(*events)
        self.logs[log.name] = log
        path = self.commitlog / log.name.log
        path.write_bytes(b"x" * 100)
        os.utime(path, (WRITTEN_AT_S, WRITTEN_AT_S))
        self.link(log)
        if idx is not None:
            self.index(log, idx)
        return log

    def completed(self, segment_id: int, *events: int) -> Log:
        return self.segment(segment_id, *events, idx="1048576\nCOMPLETED")

    def live(self, segment_id: int, *events: int) -> Log:
        """A segment that the node writes to, with all of it in the index."""
        log = self.segment(segment_id, *events)
        self.index(log, log.end)
        return log

    def link(self, log: Log) -> None:
        (self.directory / log.name.log).hardlink_to(self.commitlog / log.name.log)

    def index(self, log: Log, text: str | int) -> None:
        (self.directory / log.name.idx).write_text(str(text))

    def release(self, log: Log) -> None:
        """The node lets go of it."""
        (self.commitlog / log.name.log).unlink()

    def drop(self, log: Log) -> None:
        """Somebody removes it from cdc_raw."""
        (self.directory / log.name.log).unlink()
        (self.directory / log.name.idx).unlink(missing_ok=True)

    def names(self) -> set[str]:
        return {file.name for file in self.directory.iterdir()}

    def open(self, path: Path, name: SegmentName, position: int) -> Any:
        if self.open_error is not None:
            raise self.open_error
        path.stat()
        return FakeReader(self, self.logs[name], position)

    def schema(self, *tables: str) -> Schema:
        schema = Schema.from_cql("")
        self._schemas.append((schema, frozenset(tables)))
        return schema

    def tables_of(self, schema: Schema) -> frozenset[str]:
        return next(tables for known, tables in self._schemas if known is schema)


@dataclass
class FakeSchema:
    """A schema source that the test sets."""

    schema: Schema | None
    next_schema: Schema | None = None
    """Becomes known with the next refresh."""
    asked: list[str] = field(default_factory=list)
    last_error: str | None = None
    fatal: Exception | None = None

    def current(self) -> Schema | None:
        return self.schema

    def absorb(self, changes: SchemaChanges) -> None:
        assert self.schema is not None
        self.schema = self.schema.with_changes(changes)

    def refresh(self, reason: str) -> bool:
        self.asked.append(reason)
        if self.next_schema is None:
            return False
        self.schema, self.next_schema = self.next_schema, None
        return True


@dataclass
class FakeStore:
    """Stores values in memory; fails on demand."""

    values: dict[str, str] = field(default_factory=dict)
    saves: int = 0
    is_failing: bool = False

    def save(self, values: Mapping[str, str], /) -> None:
        if self.is_failing:
            raise OffsetSaveError("The offsets cannot be saved: the disk is full.")
        self.values = dict(values)
        self.saves += 1


class FakeClock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s

    def advance(self, seconds: float) -> None:
        self.now_s += seconds


class InlineExecutor(Executor):
    """Does the work at once, in the caller's thread."""

    def submit(self, work: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        _do(future, partial(work, *args, **named))
        return future


class LateExecutor(Executor):
    """A worker that does what it has to do when the test says so."""

    def __init__(self) -> None:
        self.tasks: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, work: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.tasks.append((future, partial(work, *args, **named)))
        return future

    def work(self) -> bool:
        """Does one task, in the caller's thread; False when there is none."""
        if not self.tasks:
            return False
        _do(*self.tasks.pop(0))
        return True


def _do(future: Future[Any], work: Callable[[], Any]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
