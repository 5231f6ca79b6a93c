"""Prometheus metrics of the MongoDB agent, in addition to delivery metrics. Names include units."""

from functools import partial

from prometheus_client import Counter, Gauge

from mongo_agent.signals.signal import Signal, SignalResult
from sidecar.metrics import DeliveryMetrics

# A reason of `skipped_events`; others come from the encoder.
TOO_LARGE = "too large"

# Reasons of `quarantined`.
UNREADABLE = "unreadable"
REJECTED_BY_SINK = "rejected_event"
GAP = "gap"
REASONS = (UNREADABLE, REJECTED_BY_SINK, GAP)


class MongoMetrics:
    """Counters increase where events occur; gauges are set from views."""

    def __init__(self, delivery: DeliveryMetrics) -> None:
        self.delivery = delivery
        counter = partial(Counter, registry=delivery.registry)
        gauge = partial(Gauge, registry=delivery.registry)
        by_stream = ("stream",)
        self.events = counter(
            "cdc_events_total",
            "Messages created since the start, by collection and kind; repeats count again.",
            ("collection", "kind"),
        )
        self.skipped_events = counter(
            "cdc_skipped_events_total", "Events skipped without a message, by reason.", ("reason",)
        )
        self.quarantined = counter(
            "cdc_quarantined_total",
            "Dead letters and time ranges with missing changes, by reason.",
            ("reason",),
        )
        self.signals = counter(
            "cdc_signals_total",
            "Signals that the agent answered, by type and answer.",
            ("type", "answer"),
        )
        self.heartbeats = counter("cdc_heartbeats_total", "Heartbeats that the agent sent.")
        self.leader = gauge(
            "cdc_leader",
            "1 while the agent is the leader of its consumer group, else 0, by group; only with "
            "standby.enabled.",
            ("group",),
        )
        self.stream_open = gauge(
            "cdc_stream_open", "1 while the change stream is open, else 0, by stream.", by_stream
        )
        self.stream_reopenings = counter(
            "cdc_stream_reopenings_total",
            "Times that the agent reopened a change stream, by stream.",
            by_stream,
        )
        self.elections = counter(
            "cdc_elections_total", "Changes of the primary that the agent observed."
        )
        self.lag_seconds = gauge(
            "cdc_lag_seconds",
            "Age in seconds of the last acknowledged change while events wait; else 0.",
        )
        self.stream_age_seconds = gauge(
            "cdc_stream_age_seconds",
            "Age in seconds of the cluster time up to which a change stream is read, by stream.",
            by_stream,
        )
        self.read_time_seconds = gauge(
            "cdc_read_cluster_time_seconds",
            "Cluster time in seconds since 1970 up to which a change stream is read, by stream.",
            by_stream,
        )
        self.acknowledged_time_seconds = gauge(
            "cdc_acknowledged_cluster_time_seconds",
            "Cluster time in seconds since 1970 up to which a change stream is acknowledged, by "
            "stream.",
            by_stream,
        )
        self.oplog_headroom_seconds = gauge(
            "cdc_oplog_headroom_seconds",
            "Seconds between the oldest entry of the oplog and the stored position, by stream; NaN "
            "when it is not known.",
            by_stream,
        )
        self.snapshot_running = gauge(
            "cdc_snapshot_running", "1 while a snapshot of collections is running, else 0."
        )
        self.snapshot_paused = gauge("cdc_snapshot_paused", "1 while snapshots are paused, else 0.")
        self.snapshot_remaining_collections = gauge(
            "cdc_snapshot_remaining_collections", "Collections whose snapshot is not complete."
        )
        self.quarantine_bytes = gauge("cdc_quarantine_bytes", "Size of the quarantine in bytes.")
        self.quarantine_limit_bytes = gauge(
            "cdc_quarantine_limit_bytes", "Limit of the quarantine in bytes."
        )
        self._totals: dict[Counter, int] = {}
        for reason in REASONS:
            self.quarantined.labels(reason)

    def clear_gauges(self) -> None:
        """Clear the values of a pipeline that has ended; counters stay."""
        for gauge in (
            self.stream_open,
            self.stream_age_seconds,
            self.read_time_seconds,
            self.acknowledged_time_seconds,
            self.oplog_headroom_seconds,
        ):
            gauge.clear()
        delivery = self.delivery
        for gauge in (
            self.lag_seconds,
            self.snapshot_running,
            self.snapshot_paused,
            self.snapshot_remaining_collections,
            delivery.unacknowledged_events,
            delivery.unacknowledged_age_seconds,
            delivery.window_bytes,
        ):
            gauge.set(0)

    def count_up_to(self, counter: Counter, total: int) -> None:
        """Raise a counter to a total that is counted elsewhere and may restart at 0 there."""
        last = self._totals.get(counter, 0)
        self._totals[counter] = total
        counter.inc(total - last if total >= last else total)

    def count_answer(self, signal: Signal, answer: SignalResult) -> None:
        self.signals.labels(signal.type, "accepted" if answer.is_accepted else "rejected").inc()
