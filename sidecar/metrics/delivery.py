"""Prometheus metrics of delivery and of the status, in a separate registry. Names include the unit.

An agent adds its own metrics to `registry` with the same prefix `cdc_`.
"""

from functools import partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Info,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from sidecar.health.condition import AGENT_STATES, Status
from sidecar.instance import Instance

# No query needs the additional `_created` series of each counter.
disable_created_metrics()  # type: ignore[no-untyped-call]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class DeliveryMetrics:
    """The metrics that every agent records between its window and its sink."""

    def __init__(self, service_name: str, version: str) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        self._build = Info(
            "cdc_build",
            "Identity of the running agent and of its node; unknown values have no label.",
            registry=registry,
        )
        self._build.info({"service_name": service_name, "version": version})
        self.events_sent = counter(
            "cdc_events_sent_total", "Events handed to the sink; repeats count again."
        )
        self.events_acknowledged = counter(
            "cdc_events_acknowledged_total", "Events that the sink has acknowledged."
        )
        self.events_failed = counter(
            "cdc_events_failed_total", "Events that the sink rejected one by one."
        )
        self.dead_letter_topic_events = counter(
            "cdc_dead_letter_topic_events_total",
            "Rejected events that the dead-letter topic has acknowledged.",
        )
        self.dead_letter_topic_failures = counter(
            "cdc_dead_letter_topic_failures_total",
            "Rejected events that the dead-letter topic did not accept and the agent stored in "
            "files.",
        )
        self.unacknowledged_events = gauge(
            "cdc_unacknowledged_events", "Events that are read but not acknowledged yet."
        )
        self.unacknowledged_age_seconds = gauge(
            "cdc_unacknowledged_age_seconds",
            "Age in seconds of the oldest unacknowledged event; 0 if there is none.",
        )
        self.window_bytes = gauge(
            "cdc_window_bytes", "Size in bytes of the keys and values in the window."
        )
        self.window_limit_bytes = gauge(
            "cdc_window_limit_bytes",
            "Bytes in the window at which reading pauses.",
        )
        self.window_limit_events = gauge(
            "cdc_window_limit_events",
            "Number of events in the window at which reading pauses.",
        )
        self.sink_up = gauge("cdc_sink_up", "1 while the sink accepts events, else 0.")
        self.sink_restarts = counter(
            "cdc_sink_restarts_total",
            "Times that delivery restarted from the last acknowledged event.",
        )
        self._status = gauge(
            "cdc_status",
            "1 for the current status of the agent, 0 for the others, by status: ok, degraded or "
            "failing.",
            ("status",),
        )
        self._conditions = gauge(
            "cdc_condition",
            "1 while a condition exists, by code and by the status that it causes; /health has the "
            "message and the remedy.",
            ("code", "status"),
        )
        for state in AGENT_STATES:
            self._status.labels(state.value)
        self.offset_saves = counter(
            "cdc_offset_saves_total", "Times that the agent saved its offsets."
        )
        self.offset_save_failures = counter(
            "cdc_offset_save_failures_total", "Failed attempts to save the offsets."
        )
        self.offset_saved_timestamp_seconds = gauge(
            "cdc_offset_saved_timestamp_seconds",
            "Time of the last saved offsets in seconds since 1970.",
        )

    def set_instance(self, instance: Instance) -> None:
        """Replaces the labels of `cdc_build_info`; there is always one series."""
        self._build.info(instance.labels())

    def set_status(self, status: Status) -> None:
        """Sets the gauges of the status and its conditions. Call it before each rendering, from one
        thread at a time."""
        for state in AGENT_STATES:
            self._status.labels(state.value).set(state is status.state)
        self._conditions.clear()
        for condition in status.conditions:
            self._conditions.labels(condition.code, condition.state.value).set(1)

    def render(self) -> bytes:
        """The body of `/metrics`."""
        return generate_latest(self.registry)
