"""Prometheus metrics of the agent, beside those of its delivery. Names carry their unit."""

from prometheus_client import Counter, Gauge

from mongo_agent.signals import Signal, SignalResult
from sidecar.metrics import DeliveryMetrics

EVENTS = "cdc_events_total"
SKIPPED_EVENTS = "cdc_skipped_events_total"
QUARANTINED = "cdc_quarantined_total"
SIGNALS = "cdc_signals_total"
STREAM_OPEN = "cdc_stream_open"
STREAM_REOPENINGS = "cdc_stream_reopenings"
ELECTIONS = "cdc_elections"
LAG_SECONDS = "cdc_lag_seconds"
STREAM_AGE_SECONDS = "cdc_stream_age_seconds"
READ_TIME = "cdc_read_cluster_time_seconds"
ACKNOWLEDGED_TIME = "cdc_acknowledged_cluster_time_seconds"
OPLOG_HEADROOM = "cdc_oplog_headroom_seconds"
COPY_RUNNING = "cdc_copy_running"
COPY_PAUSED = "cdc_copy_paused"
COPY_REMAINING = "cdc_copy_remaining_collections"
HEARTBEATS = "cdc_heartbeats_total"
QUARANTINE_BYTES = "cdc_quarantine_bytes"
QUARANTINE_LIMIT_BYTES = "cdc_quarantine_limit_bytes"

# Among the reasons of SKIPPED_EVENTS.
TOO_LARGE = "too large"

# Reasons of QUARANTINED.
UNREADABLE = "unreadable"
REFUSED_BY_SINK = "refused_event"
GAP = "gap"
REASONS = (UNREADABLE, REFUSED_BY_SINK, GAP)


class MongoMetrics:
    """What the agent counts. Counters are moved where things happen; gauges are set from views."""

    def __init__(self, delivery: DeliveryMetrics) -> None:
        self.delivery = delivery
        registry = delivery.registry
        self.events = Counter(
            EVENTS,
            "Messages made, repeats included, by collection and kind.",
            ("collection", "kind"),
            registry=registry,
        )
        self.skipped_events = Counter(
            SKIPPED_EVENTS,
            "Events without a message, by reason.",
            ("reason",),
            registry=registry,
        )
        self.quarantined = Counter(
            QUARANTINED,
            "What could not be delivered and is on record, by reason.",
            ("reason",),
            registry=registry,
        )
        self.signals = Counter(
            SIGNALS, "Signals, by their type and answer.", ("type", "answer"), registry=registry
        )
        self.heartbeats = Counter(HEARTBEATS, "Heartbeats that were made.", registry=registry)
        self.stream_open = Gauge(
            STREAM_OPEN, "1 while the change stream is read, else 0.", ("lane",), registry=registry
        )
        self.stream_reopenings = Gauge(
            STREAM_REOPENINGS,
            "Times that the stream was opened again since the start.",
            ("lane",),
            registry=registry,
        )
        self.elections = Gauge(
            ELECTIONS,
            "Changes of the primary since the start.",
            registry=registry,
        )
        self.lag_seconds = Gauge(
            LAG_SECONDS,
            "While events wait: age of the last acknowledged change; else 0.",
            registry=registry,
        )
        self.stream_age_seconds = Gauge(
            STREAM_AGE_SECONDS,
            "Age of the cluster time up to which the stream is read.",
            ("lane",),
            registry=registry,
        )
        self.read_time_seconds = Gauge(
            READ_TIME, "Cluster time up to which the stream is read.", ("lane",), registry=registry
        )
        self.acknowledged_time_seconds = Gauge(
            ACKNOWLEDGED_TIME,
            "Cluster time up to which it is acknowledged.",
            ("lane",),
            registry=registry,
        )
        self.oplog_headroom_seconds = Gauge(
            OPLOG_HEADROOM,
            "How much older the oldest entry of the oplog is than the stored position; "
            "NaN: not known.",
            ("lane",),
            registry=registry,
        )
        self.copy_running = Gauge(
            COPY_RUNNING, "1 while collections are copied, else 0.", registry=registry
        )
        self.copy_paused = Gauge(COPY_PAUSED, "1 while copies are paused.", registry=registry)
        self.copy_remaining_collections = Gauge(
            COPY_REMAINING, "Collections that are not copied wholly.", registry=registry
        )
        self.quarantine_bytes = Gauge(
            QUARANTINE_BYTES, "Size of the quarantine.", registry=registry
        )
        self.quarantine_limit_bytes = Gauge(
            QUARANTINE_LIMIT_BYTES, "Size that it may have.", registry=registry
        )
        for reason in REASONS:
            self.quarantined.labels(reason)

    def answered(self, signal: Signal, answer: SignalResult) -> None:
        """A signal was answered."""
        self.signals.labels(signal.type, "accepted" if answer.is_accepted else "refused").inc()
