"""Segments as the pipeline opens and reads them, with one format of events."""

from collections.abc import Callable, Sequence
from pathlib import Path

from agent.cdc_raw.names import SegmentName
from agent.keystore.source import KeySource, open_segment, with_key_advice
from agent.segments.state import ReadRequest
from commitlog import (
    AnnouncedSchema,
    CounterHistory,
    EventBatch,
    EventFormat,
    Schema,
    SegmentReader,
)

Abandoned = Sequence[tuple[str, str | None]]
"""Ids of abandoned tables, and columns."""


class OpenSegment:
    """One segment, read forward. Its file stays open."""

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
        """Where the next read starts."""
        return self._reader.position

    @property
    def fingerprint(self) -> int:
        """What tells the segment from another file of its name. Raises OSError."""
        return self._reader.fingerprint

    def interrupt(self) -> None:
        """Ends a running read from another thread: it raises OSError."""
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
    ) -> EventBatch:
        """The next events of the requested part. Raises OSError; damage is a gap in the batch."""
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
"""Opens a segment at a position. Raises OSError, or CommitLogError when it cannot be read."""


def open_with(
    event_format: EventFormat,
    counters: CounterHistory | None = None,
    keystore: KeySource | None = None,
) -> OpenReader:
    """Readers with one event format and one history of counters. `keystore` has the keys of
    encrypted segments."""
    keys = keystore or KeySource(None)

    def open_reader(path: Path, name: SegmentName, position: int) -> OpenSegment:
        reader = open_segment(path, name.log, keys, position, follow_links=False)
        return OpenSegment(reader, event_format, counters, keys)

    return open_reader
