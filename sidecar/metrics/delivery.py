"""Prometheus metrics of delivery, in a registry of their own. Names carry their unit.

An agent adds its own metrics to `registry` with the same prefix.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Info, generate_latest
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from sidecar.status import StatusMetrics

PREFIX = "cdc_"

BUILD = "cdc_build"
EVENTS_SENT = "cdc_events_sent_total"
EVENTS_ACKNOWLEDGED = "cdc_events_acknowledged_total"
EVENTS_FAILED = "cdc_events_failed_total"
UNACKNOWLEDGED_EVENTS = "cdc_unacknowledged_events"
UNACKNOWLEDGED_AGE = "cdc_unacknowledged_age_seconds"
WINDOW_BYTES = "cdc_window_bytes"
WINDOW_LIMIT_BYTES = "cdc_window_limit_bytes"
WINDOW_LIMIT_EVENTS = "cdc_window_limit_events"
SINK_UP = "cdc_sink_up"
SINK_RESTARTS = "cdc_sink_restarts_total"
OFFSET_SAVES = "cdc_offset_saves_total"
OFFSET_SAVE_FAILURES = "cdc_offset_save_failures_total"
OFFSET_SAVED_TIME = "cdc_offset_saved_timestamp_seconds"

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class DeliveryMetrics:
    """What every sidecar counts on the way from its window to its sink."""

    def __init__(self, service_name: str, version: str) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        Info(BUILD, "The running program.", registry=registry).info(
            {"service_name": service_name, "version": version}
        )
        self.events_sent = Counter(
            EVENTS_SENT, "Events that the sink took, repeats included.", registry=registry
        )
        self.events_acknowledged = Counter(
            EVENTS_ACKNOWLEDGED, "Events that the sink has made safe.", registry=registry
        )
        self.events_failed = Counter(
            EVENTS_FAILED, "Events that the sink refused alone.", registry=registry
        )
        self.unacknowledged_events = Gauge(
            UNACKNOWLEDGED_EVENTS, "Events that are read and not yet safe.", registry=registry
        )
        self.unacknowledged_age_seconds = Gauge(
            UNACKNOWLEDGED_AGE, "Waiting time of the oldest of them.", registry=registry
        )
        self.window_bytes = Gauge(
            WINDOW_BYTES, "Keys and values that the window keeps.", registry=registry
        )
        self.window_limit_bytes = Gauge(
            WINDOW_LIMIT_BYTES, "Bytes at which reading pauses.", registry=registry
        )
        self.window_limit_events = Gauge(
            WINDOW_LIMIT_EVENTS, "Events at which reading pauses.", registry=registry
        )
        self.sink_up = Gauge(
            SINK_UP, "1 when events go through the sink, else 0.", registry=registry
        )
        self.sink_restarts = Counter(
            SINK_RESTARTS, "Times that delivery began again at the watermark.", registry=registry
        )
        self.status = StatusMetrics(registry)
        self.offset_saves = Counter(
            OFFSET_SAVES, "Times that progress was made durable.", registry=registry
        )
        self.offset_save_failures = Counter(
            OFFSET_SAVE_FAILURES, "Times that it could not be.", registry=registry
        )
        self.offset_saved_timestamp_seconds = Gauge(
            OFFSET_SAVED_TIME, "When progress was last made durable.", registry=registry
        )

    def render(self) -> bytes:
        """The text that `/metrics` answers with."""
        return generate_latest(self.registry)
