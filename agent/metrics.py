"""Prometheus metrics of the Cassandra agent, except for delivery metrics. Names include units.

`agent.pipeline.view` and `agent.status.view` set the gauges.
"""

import math
from collections.abc import Iterable
from functools import partial

from prometheus_client import Counter, Gauge

from agent.segments.state import Phase
from sidecar.metrics import DeliveryMetrics

READ_SEGMENT = "cdc_read_segment_id"
ACKNOWLEDGED_SEGMENT = "cdc_acknowledged_segment_id"

# Reasons of `quarantined`.
DAMAGE = "damage"
UNKNOWN_SCHEMA = "unknown_schema"
UNREADABLE = "unreadable"
VANISHED = "vanished"
REJECTED_EVENT = "rejected_event"
REASONS = (DAMAGE, UNKNOWN_SCHEMA, UNREADABLE, VANISHED, REJECTED_EVENT)

# Dispositions of `segments_finished`.
DELIVERED = "delivered"
QUARANTINED = "quarantined"


class AgentMetrics:
    """The code that does the work increments counters; views set gauges."""

    def __init__(self, delivery: DeliveryMetrics) -> None:
        self.delivery = delivery
        counter = partial(Counter, registry=delivery.registry)
        gauge = partial(Gauge, registry=delivery.registry)
        self.events = counter(
            "cdc_events_total",
            "Events read, by table and operation; repeats count again.",
            ("table", "op"),
        )
        self.mutations = counter("cdc_mutations_total", "Mutations read; repeats count again.")
        self.skipped_updates = counter(
            "cdc_skipped_updates_total",
            "Partition updates without an event, by reason; `skipped_operation` counts events.",
            ("reason",),
        )
        self.quarantined = counter(
            "cdc_quarantined_total",
            "Quarantined ranges of segments and dead letters, by reason.",
            ("reason",),
        )
        self.segments_finished = counter(
            "cdc_segments_finished_total",
            "Segments that left cdc_raw, by disposition: delivered or quarantined.",
            ("disposition",),
        )
        self.read_segment = gauge(READ_SEGMENT, "Id of the segment that the agent read last.")
        self.read_position = gauge(
            "cdc_read_position_bytes",
            "Position in bytes up to which the agent read segment " + READ_SEGMENT + ".",
        )
        self.acknowledged_segment = gauge(
            ACKNOWLEDGED_SEGMENT, "Id of the segment with the latest acknowledged position."
        )
        self.acknowledged_position = gauge(
            "cdc_acknowledged_position_bytes",
            "Latest acknowledged position in bytes in segment " + ACKNOWLEDGED_SEGMENT + ".",
        )
        self.lag_bytes = gauge(
            "cdc_lag_bytes", "Readable bytes of all segments that are not acknowledged yet."
        )
        self.lag_seconds = gauge(
            "cdc_lag_seconds",
            "Age in seconds of the latest acknowledged write while bytes wait, at most the time "
            "since everything was delivered; 0 if nothing waits.",
        )
        self.segments = gauge("cdc_segments", "Segments in cdc_raw, by state.", ("state",))
        self.raw_bytes = gauge("cdc_raw_bytes", "Size of the segments in cdc_raw in bytes.")
        self.raw_limit_bytes = gauge(
            "cdc_raw_limit_bytes",
            "Size of cdc_raw in bytes at which the node rejects writes or deletes segments; NaN if "
            "unknown.",
        )
        self.raw_time_to_full_seconds = gauge(
            "cdc_raw_time_to_full_seconds",
            "Seconds until cdc_raw is full at the fastest growth over 30 s to ten minutes; +Inf "
            "without growth, NaN if unknown.",
        )
        self.blocked = gauge(
            "cdc_blocked",
            "1 while reading is blocked by a missing schema, key or schema registry id, or by an "
            "unreadable file; else 0.",
        )
        self.blocked_seconds = gauge(
            "cdc_blocked_seconds", "Seconds since the current segment was blocked; else 0."
        )
        self.quarantine_bytes = gauge("cdc_quarantine_bytes", "Size of the quarantine in bytes.")
        self.quarantine_segments = gauge(
            "cdc_quarantine_segments", "Quarantined segments and segments with dead letters."
        )
        self.quarantine_limit_bytes = gauge(
            "cdc_quarantine_limit_bytes", "Limit of the quarantine in bytes."
        )
        self.transfer_up = gauge(
            "cdc_transfer_up", "1 while the agent can send segments to the remote store, else 0."
        )
        self.transfer_up.set(1)
        self.transfer_segments = gauge(
            "cdc_transfer_backlog_segments",
            "Segments that left cdc_raw but are not in the remote store yet.",
        )
        self.transfer_bytes = gauge(
            "cdc_transfer_backlog_bytes",
            "Size in bytes of the segments that left cdc_raw but are not in the remote store yet.",
        )
        self.transfer_limit_bytes = gauge(
            "cdc_transfer_backlog_limit_bytes",
            "Size of the transfer backlog in bytes at which further segments stay in cdc_raw; NaN "
            "without a remote store.",
        )
        self.transfer_limit_bytes.set(math.nan)
        self.transferred_segments = counter(
            "cdc_transferred_segments_total",
            "Segments that the remote store has received completely.",
        )
        self.transferred_bytes = counter(
            "cdc_transferred_bytes_total", "Bytes sent to the remote store."
        )
        self.transfer_failures = counter(
            "cdc_transfer_failures_total", "Failed attempts to send a segment to the remote store."
        )
        self.schema_tables = gauge(
            "cdc_schema_tables", "Tables in the schema that the agent knows."
        )
        self.published_tables = gauge(
            "cdc_published_tables",
            "Tables whose changes the agent publishes: cdc is enabled and no list excludes them; "
            "NaN if unknown.",
        )
        self.unlogged_tables = gauge(
            "cdc_unlogged_tables",
            "Published tables with writes that bypass the node's commit log, so that no event "
            "contains them; NaN if unknown.",
        )
        self.table_unlogged = gauge(
            "cdc_table_unlogged",
            "1 for each published table with writes that bypass the node's commit log, by "
            "keyspace, table and reason: durable_writes, mutation_tracking, transactional_mode or "
            "transactional_migration.",
            ("keyspace", "table", "reason"),
        )
        self._unlogged: frozenset[tuple[str, str, str]] = frozenset()
        self.schema_changes = counter(
            "cdc_schema_changes_total",
            "Messages created for the schema-change topic; repeats count again.",
        )
        self.watermark = gauge(
            "cdc_watermark_timestamp_seconds",
            "Unix time in seconds up to which Kafka contains every write that the node logged, "
            "except for recorded gaps; NaN until known.",
        )
        self.watermark.set(math.nan)
        self.watermarks = counter(
            "cdc_watermarks_total", "Messages created for the watermark topic; repeats count again."
        )
        self.inotify_active = gauge(
            "cdc_inotify_active",
            "1 while inotify reports changes in cdc_raw, 0 while the agent polls.",
        )
        self.accord_waiting = gauge(
            "cdc_accord_waiting_transactions",
            "Transactions in the Accord journal that the node has not applied yet.",
        )
        self.accord_oldest_seconds = gauge(
            "cdc_accord_oldest_waiting_seconds",
            "Age in seconds of the oldest transaction that the node has not applied; 0 if none.",
        )
        self.snapshot_rows = counter(
            "cdc_snapshot_rows_total",
            "Rows read for snapshots, by table; repeats count again.",
            ("table",),
        )
        self.snapshot_tables = gauge(
            "cdc_snapshot_tables", "Tables by the state of their snapshot.", ("state",)
        )
        self.snapshot_progress = gauge(
            "cdc_snapshot_progress_ratio",
            "Share of a table's token ranges with an acknowledged snapshot, from 0 to 1, by table.",
            ("table",),
        )
        self.snapshot_waiting = gauge(
            "cdc_snapshot_waiting", "1 while the snapshot cannot read rows, else 0."
        )
        self.snapshot_unsupported_tables = gauge(
            "cdc_snapshot_unsupported_tables",
            "Published tables without a snapshot because they contain counters.",
        )
        for reason in REASONS:
            self.quarantined.labels(reason)
        for disposition in (DELIVERED, QUARANTINED):
            self.segments_finished.labels(disposition)
        for phase in Phase:
            self.segments.labels(phase.value)

    def set_table_unlogged(self, series: Iterable[tuple[str, str, str]]) -> None:
        """Sets `table_unlogged` for these labels and removes all other labels."""
        now = frozenset(series)
        for labels in self._unlogged - now:
            self.table_unlogged.remove(*labels)
        for labels in now:
            self.table_unlogged.labels(*labels).set(1)
        self._unlogged = now
