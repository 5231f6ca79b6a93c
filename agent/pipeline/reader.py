"""The segment reader and the schema as the pipeline needs them; `commitlog` implements them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from agent.cdc_raw.names import SegmentName
from agent.keystore.source import KeySource, open_segment, with_key_advice
from agent.segments.state import ReadRequest
from commitlog import (
    AnnouncedSchema,
    CounterHistory,
    EventFormat,
    Schema,
    SchemaChanges,
    SegmentReader,
    Unregistered,
)
from sidecar.events import DeliveryBatch


class UndecodedRange(Protocol):
    """A range of a segment that gave no events."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int | None: ...
    @property
    def cause(self) -> str: ...


class BlockedRecord(Protocol):
    """The record that stopped a read, and the table or column that it needs."""

    @property
    def position(self) -> int: ...
    @property
    def table_id(self) -> str: ...
    @property
    def column(self) -> str | None: ...
    @property
    def reason(self) -> str: ...
    @property
    def unregistered(self) -> Sequence[Unregistered]:
        """Schemas without ids, when no table or column is missing."""

    @property
    def is_unannounced(self) -> bool:
        """True when only the message of the table in the schema-change topic is missing."""


class SkippedRecords(Protocol):
    """Skipped records whose table or column is abandoned."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def table_id(self) -> str: ...
    @property
    def reason(self) -> str: ...


Abandoned = Sequence[tuple[str, str | None]]
"""Ids of abandoned tables, and columns."""


class SegmentBatch(DeliveryBatch[int], Protocol):
    """The result of one read; positions are logical."""

    @property
    def end_position(self) -> int: ...
    @property
    def stop(self) -> Literal["full", "end", "blocked", "schema"]: ...
    @property
    def blocked(self) -> BlockedRecord | None: ...
    @property
    def gaps(self) -> Sequence[UndecodedRange]: ...
    @property
    def lost(self) -> Sequence[SkippedRecords]: ...
    @property
    def schema_changes(self) -> SchemaChanges | None: ...
    @property
    def change_start(self) -> int | None:
        """Position before the record of the changes, at which the events of the batch end. None
        when they end after it."""

    @property
    def mutations(self) -> int: ...
    @property
    def skipped(self) -> Mapping[str, int]: ...
    @property
    def counts(self) -> Mapping[tuple[str, str], int]: ...
    @property
    def last_write_ts_us(self) -> int | None: ...


class Reader(Protocol):
    """One segment, read forward. Its file stays open."""

    @property
    def position(self) -> int:
        """Where the next read starts."""

    @property
    def fingerprint(self) -> int:
        """What tells the segment from another file of its name. Raises OSError."""

    def interrupt(self) -> None:
        """Ends a running read from another thread: it raises OSError."""

    def read(
        self,
        schema: Schema,
        order: ReadRequest,
        *,
        max_events: int,
        max_bytes: int,
        abandoned: Abandoned = (),
        announced: AnnouncedSchema | None = None,
    ) -> SegmentBatch:
        """The next events of the requested part. Raises OSError; damage is a gap in the batch."""


OpenReader = Callable[[Path, SegmentName, int], Reader]
"""Opens a segment at a position. Raises OSError, or CommitLogError when it cannot be read."""


class SchemaSource(Protocol):
    """The source of the schema. Any thread may call it."""

    def current(self) -> Schema | None:
        """The present schema; the same object while nothing changed. None: none yet."""

    def absorb(self, changes: SchemaChanges) -> None:
        """Merges a change of schema from the log, durably."""

    def refresh(self, reason: str) -> bool:
        """Requests a newer schema because of `reason`; waits seconds at most. True: it changed."""

    @property
    def last_error(self) -> str | None:
        """Why the last refresh failed; None when it did not."""

    @property
    def fatal(self) -> Exception | None:
        """Why no newer schema will ever come; None while one may."""


def open_with(
    event_format: EventFormat,
    counters: CounterHistory | None = None,
    keystore: KeySource | None = None,
) -> OpenReader:
    """Readers with one event format and one history of counters. `keystore` has the keys of
    encrypted segments."""
    keys = keystore or KeySource(None)

    def open_reader(path: Path, name: SegmentName, position: int) -> Reader:
        reader = open_segment(path, name.log, keys, position, follow_links=False)
        return _FormattedReader(reader, event_format, counters, keys)

    return open_reader


class _FormattedReader:
    def __init__(
        self,
        reader: SegmentReader,
        event_format: EventFormat,
        counters: CounterHistory | None,
        keystore: KeySource,
    ) -> None:
        self._reader = reader
        self._event_format = event_format
        self._counters = counters
        self._keystore = keystore

    @property
    def position(self) -> int:
        return self._reader.position

    @property
    def fingerprint(self) -> int:
        return self._reader.fingerprint

    def interrupt(self) -> None:
        self._reader.interrupt()

    def read(
        self,
        schema: Schema,
        order: ReadRequest,
        *,
        max_events: int,
        max_bytes: int,
        abandoned: Abandoned = (),
        announced: AnnouncedSchema | None = None,
    ) -> SegmentBatch:
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
