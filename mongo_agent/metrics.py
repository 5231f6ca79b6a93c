"""Prometheus metrics of the MongoDB agent, beside those of delivery. Names carry their unit."""

from functools import partial

from prometheus_client import Counter, Gauge

from mongo_agent.signals import Signal, SignalResult
from sidecar.metrics import DeliveryMetrics

EVENTS = "cdc_events_total"
SKIPPED_EVENTS = "cdc_skipped_events_total"
QUARANTINED = "cdc_quarantined_total"
SIGNALS = "cdc_signals_total"
STREAM_OPEN = "cdc_stream_open"
STREAM_REOPENINGS = "cdc_stream_reopenings_total"
ELECTIONS = "cdc_elections_total"
LAG_SECONDS = "cdc_lag_seconds"
STREAM_AGE_SECONDS = "cdc_stream_age_seconds"
READ_TIME = "cdc_read_cluster_time_seconds"
ACKNOWLEDGED_TIME = "cdc_acknowledged_cluster_time_seconds"
OPLOG_HEADROOM = "cdc_oplog_headroom_seconds"
SNAPSHOT_RUNNING = "cdc_snapshot_running"
SNAPSHOT_PAUSED = "cdc_snapshot_paused"
SNAPSHOT_REMAINING = "cdc_snapshot_remaining_collections"
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
    """Counters are moved where things happen; gauges are set from views."""

    def __init__(self, delivery: DeliveryMetrics) -> None:
        self.delivery = delivery
        counter = partial(Counter, registry=delivery.registry)
        gauge = partial(Gauge, registry=delivery.registry)
        by_stream = ("stream",)
        self.events = counter(
            EVENTS,
            "Messages made, by collection and kind; repeats count again.",
            ("collection", "kind"),
        )
        self.skipped_events = counter(
            SKIPPED_EVENTS, "Events that give no message, by reason.", ("reason",)
        )
        self.quarantined = counter(
            QUARANTINED, "Dead letters and missed ranges of time, by reason.", ("reason",)
        )
        self.signals = counter(
            SIGNALS, "Signals that the agent answered, by type and answer.", ("type", "answer")
        )
        self.heartbeats = counter(HEARTBEATS, "Heartbeats that the agent sent.")
        self.stream_open = gauge(
            STREAM_OPEN, "1 while the change stream is open, else 0, by stream.", by_stream
        )
        self.stream_reopenings = counter(
            STREAM_REOPENINGS,
            "Times that the agent reopened a change stream, by stream.",
            by_stream,
        )
        self.elections = counter(ELECTIONS, "Changes of the primary that the agent observed.")
        self.lag_seconds = gauge(
            LAG_SECONDS,
            "Age in seconds of the last acknowledged change while events wait; else 0.",
        )
        self.stream_age_seconds = gauge(
            STREAM_AGE_SECONDS,
            "Age in seconds of the cluster time up to which a change stream is read, by stream.",
            by_stream,
        )
        self.read_time_seconds = gauge(
            READ_TIME,
            "Cluster time in seconds since 1970 up to which a change stream is read, by stream.",
            by_stream,
        )
        self.acknowledged_time_seconds = gauge(
            ACKNOWLEDGED_TIME,
            "Cluster time in seconds since 1970 up to which a change stream is acknowledged, by "
            "stream.",
            by_stream,
        )
        self.oplog_headroom_seconds = gauge(
            OPLOG_HEADROOM,
            "Seconds between the oldest entry of the oplog and the stored position, by stream; NaN "
            "when it is not known.",
            by_stream,
        )
        self.snapshot_running = gauge(
            SNAPSHOT_RUNNING, "1 while a snapshot of collections is running, else 0."
        )
        self.snapshot_paused = gauge(SNAPSHOT_PAUSED, "1 while snapshots are paused, else 0.")
        self.snapshot_remaining_collections = gauge(
            SNAPSHOT_REMAINING, "Collections whose snapshot is not complete."
        )
        self.quarantine_bytes = gauge(QUARANTINE_BYTES, "Size of the quarantine in bytes.")
        self.quarantine_limit_bytes = gauge(
            QUARANTINE_LIMIT_BYTES, "Limit of the quarantine in bytes."
        )
        self._totals: dict[Counter, int] = {}
        for reason in REASONS:
            self.quarantined.labels(reason)

    def count_up_to(self, counter: Counter, total: int) -> None:
        """Raises a counter to a total that is counted elsewhere and starts again at 0 there."""
        last = self._totals.get(counter, 0)
        self._totals[counter] = total
        counter.inc(total - last if total >= last else total)

    def answered(self, signal: Signal, answer: SignalResult) -> None:
        """A signal was answered."""
        self.signals.labels(signal.type, "accepted" if answer.is_accepted else "refused").inc()
