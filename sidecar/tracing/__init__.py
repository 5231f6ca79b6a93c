"""Tracing of delivery (`tracing.enabled`). OpenTelemetry is loaded only when enabled.

A span `batch` lasts from reading a batch until all its events are acknowledged. Its parent is the
span `segment`, from the first batch of a segment until the segment leaves `cdc_raw`. Every event
carries the context of its batch in the header `traceparent`
(https://www.w3.org/TR/trace-context/), so that consumers can continue the trace.
"""

from typing import Protocol

from sidecar.errors import ConfigError

TRACEPARENT = "traceparent"


class BatchTrace(Protocol):
    """The span of one batch."""

    @property
    def traceparent(self) -> bytes:
        """The value of the header `traceparent`."""

    def end(self, *, is_acknowledged: bool) -> None:
        """End the span; an unacknowledged batch is read again in a new span."""


class Tracing(Protocol):
    """Creates spans. Not thread-safe."""

    def begin(self, source: str, events: int, start: object, end: object) -> BatchTrace:
        """Begin the span of a batch between two positions of a source."""

    def finished(self, source: str) -> None:
        """End the span of a source."""

    def close(self, deadline_s: float) -> None:
        """Export pending spans within the deadline."""


def create_tracing(is_enabled: bool, service_name: str, version: str) -> Tracing | None:
    """Create tracing, or None if it is disabled. Raises ConfigError if a package is missing."""
    if not is_enabled:
        return None
    try:
        from sidecar.tracing.open_telemetry import OpenTelemetryTracing
    except ImportError as error:
        raise ConfigError(
            f"`tracing.enabled=true` requires the package {error.name}. Install the extra "
            "`tracing` (pip install 'cdc-sidecar[tracing]')."
        ) from error
    return OpenTelemetryTracing(service_name, version)
