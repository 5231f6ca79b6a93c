"""Prometheus metrics of delivery, in a registry of their own. Names carry their unit.

An agent adds its own metrics to `registry` with the same prefix.
"""

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Info, generate_latest
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from sidecar.metrics.deprecated import DeprecatedNames
from sidecar.metrics.status import StatusMetrics

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
    """What every agent counts between its window and its sink."""

    def __init__(self, service_name: str, version: str) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        Info(BUILD, "Name and version of the running agent.", registry=registry).info(
            {"service_name": service_name, "version": version}
        )
        self.events_sent = counter(EVENTS_SENT, "Events handed to the sink; repeats count again.")
        self.events_acknowledged = counter(
            EVENTS_ACKNOWLEDGED, "Events that the sink has acknowledged."
        )
        self.events_failed = counter(EVENTS_FAILED, "Events that the sink rejected one by one.")
        self.unacknowledged_events = gauge(
            UNACKNOWLEDGED_EVENTS, "Events that are read and not acknowledged yet."
        )
        self.unacknowledged_age_seconds = gauge(
            UNACKNOWLEDGED_AGE,
            "Seconds for which the oldest unacknowledged event has been waiting; else 0.",
        )
        self.window_bytes = gauge(
            WINDOW_BYTES, "Size in bytes of the keys and values in the window."
        )
        self.window_limit_bytes = gauge(
            WINDOW_LIMIT_BYTES, "Size of the window in bytes at which reading pauses."
        )
        self.window_limit_events = gauge(
            WINDOW_LIMIT_EVENTS, "Events in the window at which reading pauses."
        )
        self.sink_up = gauge(SINK_UP, "1 while the sink accepts events, else 0.")
        self.sink_restarts = counter(
            SINK_RESTARTS, "Times that delivery restarted from the last acknowledged event."
        )
        self.status = StatusMetrics(registry)
        self.offset_saves = counter(OFFSET_SAVES, "Times that the agent saved its offsets.")
        self.offset_save_failures = counter(
            OFFSET_SAVE_FAILURES, "Failed attempts to save the offsets."
        )
        self.offset_saved_timestamp_seconds = gauge(
            OFFSET_SAVED_TIME, "Time of the last saved offsets in seconds since 1970."
        )

    def render(self) -> bytes:
        """The body of `/metrics`, with deprecated names."""
        return generate_latest(DeprecatedNames(self.registry))
