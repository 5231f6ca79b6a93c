"""Spans over what is delivered: `tracing.enabled`. The client is loaded when that is asked for.

A span `batch` begins when a batch is read and ends when all its events are acknowledged; its parent
is the span `segment`, from the first batch of a segment until the segment leaves. Every event of a
batch carries the batch in a header, `traceparent` (https://www.w3.org/TR/trace-context/), so that
who consumes it can go on with the trace.
"""

from typing import Protocol

TRACEPARENT = "traceparent"


class BatchTrace(Protocol):
    """The span of one batch."""

    @property
    def traceparent(self) -> bytes:
        """The value of the header."""

    def end(self, *, is_acknowledged: bool) -> None:
        """False: it is read and sent again, in a span of its own."""


class Tracing(Protocol):
    """Makes spans. For one thread."""

    def begin(self, source: str, events: int, start: object, end: object) -> BatchTrace:
        """A batch with so many events of a source, between two positions of it."""

    def finished(self, source: str) -> None:
        """Nothing more comes of a source."""

    def close(self, deadline_s: float) -> None:
        """Sends what was not sent, within the deadline."""
