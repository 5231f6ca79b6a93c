"""Spans of batches and segments, and the header that propagates the spans."""

import importlib
import sys

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from sidecar.delivery.delivery import Delivery
from sidecar.errors import ConfigError
from sidecar.metrics import DeliveryMetrics
from sidecar.tracing.open_telemetry import Tracing, create_tracing
from tests.support.segments.batches import UndatedBatch
from tests.support.sinks.memory_sink import MemorySink


class TracingHarness:
    """A delivery to memory that records spans."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.tracing = Tracing("agent", "1.2.3", SimpleSpanProcessor(self.exporter))
        self.sink = MemorySink(automatic=False)
        self.delivery: Delivery[str, int] = Delivery(
            self.sink,
            100,
            10_000,
            metrics=DeliveryMetrics("agent", "1.2.3"),
            clock=lambda: 0.0,
            tracing=self.tracing,
        )
        self.delivery.open()

    def add(self, start: int, *mutations: int) -> None:
        self.delivery.add("a.log", UndatedBatch(start, mutations), start)
        while self.delivery.send():
            pass

    def acknowledge(self) -> None:
        self.sink.acknowledge(list(self.sink.waiting))
        self.delivery.poll()

    def ended(self) -> list[str]:
        return [span.name for span in self.exporter.get_finished_spans()]


@pytest.fixture
def harness() -> TracingHarness:
    return TracingHarness()


def test_batch_span_ends_after_full_acknowledgement(harness: TracingHarness) -> None:
    harness.add(0, 2, 1)
    first = harness.sink.waiting[0]
    harness.sink.acknowledge([first])
    harness.delivery.poll()
    assert harness.ended() == []
    harness.acknowledge()
    harness.tracing.finished("a.log")
    batch, segment = harness.exporter.get_finished_spans()
    assert (batch.name, segment.name) == ("batch", "segment")
    assert batch.parent is not None
    assert segment.context is not None
    assert batch.parent.span_id == segment.context.span_id
    assert dict(batch.attributes or {}) == {
        "cdc.segment": "a.log",
        "cdc.events": 3,
        "cdc.start": "0",
        "cdc.end": "20",
    }


def test_every_event_contains_trace_parent_of_batch(harness: TracingHarness) -> None:
    harness.add(0, 2)
    harness.add(10, 1)
    harness.acknowledge()
    carried = [
        dict(headers)["traceparent"].decode() for _, (_, _, _, headers, _) in harness.sink.messages
    ]
    spans = [span.context for span in harness.exporter.get_finished_spans()]
    wanted = [
        f"00-{c.trace_id:032x}-{c.span_id:016x}-{c.trace_flags:02x}" for c in spans if c is not None
    ]
    assert carried == [wanted[0], wanted[0], wanted[1]]


def test_batch_without_events_creates_no_span(harness: TracingHarness) -> None:
    harness.add(0)
    harness.acknowledge()
    harness.tracing.close(1)
    assert harness.ended() == []


def test_forgotten_delivery_ends_span_with_error(harness: TracingHarness) -> None:
    harness.add(0, 2)
    harness.delivery.close(0)
    harness.delivery.forget()
    (span,) = harness.exporter.get_finished_spans()
    assert not span.status.is_ok
    assert span.status.description == "the batch is read and sent again"


def test_stop_ends_open_segment_span(harness: TracingHarness) -> None:
    harness.add(0, 1)
    harness.tracing.close(1)
    assert harness.ended() == ["segment"]


def test_tracing_is_optional_and_requires_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    assert create_tracing(False, "agent", "1.2.3") is None
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    importlib.invalidate_caches()
    with pytest.raises(ConfigError, match=r"the extra `tracing`"):
        create_tracing(True, "agent", "1.2.3")
