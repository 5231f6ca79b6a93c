"""Tracing with OpenTelemetry's SDK, exported by OTLP over HTTP; loaded only when enabled.

OpenTelemetry's environment variables configure it (`OTEL_EXPORTER_OTLP_ENDPOINT`,
`OTEL_TRACES_SAMPLER`, …). Spans that no collector accepts are dropped.
"""

from typing import TYPE_CHECKING

from sidecar.errors import ConfigError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.trace import Span

TRACEPARENT = "traceparent"
_FLUSH_S = 5.0


class BatchTrace:
    """The span of one batch. `traceparent` is the value of that header."""

    def __init__(self, span: "Span") -> None:
        self._span = span
        context = span.get_span_context()
        text = f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"
        self.traceparent = text.encode()

    def end(self, *, is_acknowledged: bool) -> None:
        """End the span; an unacknowledged batch is read again in a new span."""
        from opentelemetry.trace import StatusCode

        if not is_acknowledged:
            self._span.set_status(StatusCode.ERROR, "the batch is read and sent again")
        self._span.end()


class Tracing:
    """Passes the spans of one service to `processor`, by default to a collector. Not thread-safe.
    Raises ImportError for a missing package."""

    def __init__(
        self, service_name: str, version: str, processor: "SpanProcessor | None" = None
    ) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        names = {"service.name": service_name, "service.version": version}
        self._provider = TracerProvider(resource=Resource.create(names), shutdown_on_exit=False)
        self._provider.add_span_processor(processor or BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer(service_name, version)
        self._sources: dict[str, Span] = {}

    def begin(self, source: str, events: int, start: object, end: object) -> BatchTrace:
        """Begin the span of a batch between two positions of a source."""
        from opentelemetry.trace import set_span_in_context

        of_source = self._sources.get(source)
        if of_source is None:
            attributes = {"cdc.segment": source}
            of_source = self._tracer.start_span("segment", attributes=attributes)
            self._sources[source] = of_source
        span = self._tracer.start_span(
            "batch",
            context=set_span_in_context(of_source),
            attributes={
                "cdc.segment": source,
                "cdc.events": events,
                "cdc.start": str(start),
                "cdc.end": str(end),
            },
        )
        return BatchTrace(span)

    def finished(self, source: str) -> None:
        """End the span of a source."""
        span = self._sources.pop(source, None)
        if span is not None:
            span.end()

    def close(self, deadline_s: float) -> None:
        """Export pending spans within the deadline."""
        for source in list(self._sources):
            self.finished(source)
        self._provider.force_flush(int(1000 * min(deadline_s, _FLUSH_S)))


def create_tracing(is_enabled: bool, service_name: str, version: str) -> Tracing | None:
    """Create tracing, or None if it is disabled. Raises ConfigError if a package is missing."""
    if not is_enabled:
        return None
    try:
        return Tracing(service_name, version)
    except ImportError as error:
        raise ConfigError(
            f"`tracing.enabled=true` requires the package {error.name}. Install the extra "
            "`tracing` (pip install 'cdc-sidecar[tracing]')."
        ) from error
