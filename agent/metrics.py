"""Prometheus metrics of the Cassandra agent, besides those of delivery. Names carry their unit.

`agent.pipeline.view_builder` and `agent.status.view` set the gauges.
"""

import math
from functools import partial

from prometheus_client import Counter, Gauge

from agent.segments import Phase
from sidecar.metrics import DeliveryMetrics

EVENTS = "cdc_events_total"
MUTATIONS = "cdc_mutations_total"
SKIPPED_UPDATES = "cdc_skipped_updates_total"
QUARANTINED = "cdc_quarantined_total"
SEGMENTS_FINISHED = "cdc_segments_finished_total"
READ_SEGMENT = "cdc_read_segment_id"
READ_POSITION = "cdc_read_position_bytes"
ACKNOWLEDGED_SEGMENT = "cdc_acknowledged_segment_id"
ACKNOWLEDGED_POSITION = "cdc_acknowledged_position_bytes"
LAG_BYTES = "cdc_lag_bytes"
LAG_SECONDS = "cdc_lag_seconds"
SEGMENTS = "cdc_segments"
RAW_BYTES = "cdc_raw_bytes"
RAW_LIMIT_BYTES = "cdc_raw_limit_bytes"
RAW_TIME_TO_FULL = "cdc_raw_time_to_full_seconds"
BLOCKED = "cdc_blocked"
BLOCKED_SECONDS = "cdc_blocked_seconds"
QUARANTINE_BYTES = "cdc_quarantine_bytes"
QUARANTINE_SEGMENTS = "cdc_quarantine_segments"
QUARANTINE_LIMIT_BYTES = "cdc_quarantine_limit_bytes"
TRANSFER_UP = "cdc_transfer_up"
TRANSFER_SEGMENTS = "cdc_transfer_backlog_segments"
TRANSFER_BYTES = "cdc_transfer_backlog_bytes"
TRANSFER_LIMIT_BYTES = "cdc_transfer_backlog_limit_bytes"
TRANSFERRED_SEGMENTS = "cdc_transferred_segments_total"
TRANSFERRED_BYTES = "cdc_transferred_bytes_total"
TRANSFER_FAILURES = "cdc_transfer_failures_total"
SCHEMA_TABLES = "cdc_schema_tables"
PUBLISHED_TABLES = "cdc_published_tables"
INOTIFY_ACTIVE = "cdc_inotify_active"
SNAPSHOT_ROWS = "cdc_snapshot_rows_total"
SNAPSHOT_TABLES = "cdc_snapshot_tables"
SNAPSHOT_PROGRESS = "cdc_snapshot_progress_ratio"
SNAPSHOT_WAITING = "cdc_snapshot_waiting"
SNAPSHOT_COUNTER_TABLES = "cdc_snapshot_counter_tables"

# Reasons of QUARANTINED.
DAMAGE = "damage"
UNKNOWN_SCHEMA = "unknown_schema"
UNREADABLE = "unreadable"
VANISHED = "vanished"
REFUSED_EVENT = "refused_event"
REASONS = (DAMAGE, UNKNOWN_SCHEMA, UNREADABLE, VANISHED, REFUSED_EVENT)

# Ways of SEGMENTS_FINISHED.
TRANSFERRED = "transferred"
KEPT = "quarantined"


class AgentMetrics:
    """Counters are moved where things happen; gauges are set from views."""

    def __init__(self, delivery: DeliveryMetrics) -> None:
        self.delivery = delivery
        counter = partial(Counter, registry=delivery.registry)
        gauge = partial(Gauge, registry=delivery.registry)
        self.events = counter(
            EVENTS, "Events read, by table and operation; repeats count again.", ("table", "op")
        )
        self.mutations = counter(MUTATIONS, "Mutations read; repeats count again.")
        self.skipped_updates = counter(
            SKIPPED_UPDATES, "Partition updates that give no events, by reason.", ("reason",)
        )
        self.quarantined = counter(
            QUARANTINED,
            "Quarantined ranges of segments and dead letters, by reason.",
            ("reason",),
        )
        self.segments_finished = counter(
            SEGMENTS_FINISHED,
            "Segments that left cdc_raw, by way: transferred or quarantined.",
            ("way",),
        )
        self.read_segment = gauge(READ_SEGMENT, "Id of the last segment that the agent read.")
        self.read_position = gauge(
            READ_POSITION,
            "Position in bytes up to which the agent read the segment of " + READ_SEGMENT + ".",
        )
        self.acknowledged_segment = gauge(
            ACKNOWLEDGED_SEGMENT, "Id of the segment with the last acknowledged position."
        )
        self.acknowledged_position = gauge(
            ACKNOWLEDGED_POSITION,
            "Last acknowledged position in bytes in the segment of " + ACKNOWLEDGED_SEGMENT + ".",
        )
        self.lag_bytes = gauge(
            LAG_BYTES, "Readable bytes of all segments that are not acknowledged yet."
        )
        self.lag_seconds = gauge(
            LAG_SECONDS,
            "Age in seconds of the last acknowledged write while bytes wait, at most the time "
            "since everything was delivered; 0 when nothing waits.",
        )
        self.segments = gauge(SEGMENTS, "Segments in cdc_raw, by state.", ("state",))
        self.raw_bytes = gauge(RAW_BYTES, "Size of the segments in cdc_raw in bytes.")
        self.raw_limit_bytes = gauge(
            RAW_LIMIT_BYTES,
            "Size of cdc_raw in bytes at which the node rejects writes or drops segments; NaN when "
            "it is not known.",
        )
        self.raw_time_to_full_seconds = gauge(
            RAW_TIME_TO_FULL,
            "Seconds until cdc_raw is full at the growth of the last ten minutes; +Inf when it "
            "does not grow, NaN when it is not known.",
        )
        self.blocked = gauge(
            BLOCKED,
            "1 while reading is blocked: a segment lacks a schema, a key, an id of the schema "
            "registry, or its file; else 0.",
        )
        self.blocked_seconds = gauge(
            BLOCKED_SECONDS, "Seconds for which the current segment has been blocked; else 0."
        )
        self.quarantine_bytes = gauge(QUARANTINE_BYTES, "Size of the quarantine in bytes.")
        self.quarantine_segments = gauge(
            QUARANTINE_SEGMENTS, "Quarantined segments and segments with dead letters."
        )
        self.quarantine_limit_bytes = gauge(
            QUARANTINE_LIMIT_BYTES, "Limit of the quarantine in bytes."
        )
        self.transfer_up = gauge(
            TRANSFER_UP, "1 while the agent can send segments to the remote store, else 0."
        )
        self.transfer_up.set(1)
        self.transfer_segments = gauge(
            TRANSFER_SEGMENTS, "Segments that left cdc_raw and are not in the remote store yet."
        )
        self.transfer_bytes = gauge(
            TRANSFER_BYTES,
            "Size in bytes of the segments that left cdc_raw and are not in the remote store yet.",
        )
        self.transfer_limit_bytes = gauge(
            TRANSFER_LIMIT_BYTES,
            "Size of the transfer backlog in bytes at which further segments stay in cdc_raw; NaN "
            "without a remote store.",
        )
        self.transfer_limit_bytes.set(math.nan)
        self.transferred_segments = counter(
            TRANSFERRED_SEGMENTS, "Segments that the remote store has received completely."
        )
        self.transferred_bytes = counter(TRANSFERRED_BYTES, "Bytes sent to the remote store.")
        self.transfer_failures = counter(
            TRANSFER_FAILURES, "Failed attempts to send a segment to the remote store."
        )
        self.schema_tables = gauge(SCHEMA_TABLES, "Tables in the schema that the agent knows.")
        self.published_tables = gauge(
            PUBLISHED_TABLES,
            "Tables whose changes the agent publishes: cdc is enabled and no list excludes them; "
            "NaN when it is not known.",
        )
        self.inotify_active = gauge(
            INOTIFY_ACTIVE, "1 while inotify reports changes in cdc_raw, 0 while the agent polls."
        )
        self.snapshot_rows = counter(
            SNAPSHOT_ROWS, "Rows read for snapshots, by table; repeats count again.", ("table",)
        )
        self.snapshot_tables = gauge(
            SNAPSHOT_TABLES, "Tables by the state of their snapshot.", ("state",)
        )
        self.snapshot_progress = gauge(
            SNAPSHOT_PROGRESS,
            "Share of a table's token ranges with an acknowledged snapshot, from 0 to 1, by table.",
            ("table",),
        )
        self.snapshot_waiting = gauge(
            SNAPSHOT_WAITING, "1 while the snapshot cannot read rows, else 0."
        )
        self.snapshot_counter_tables = gauge(
            SNAPSHOT_COUNTER_TABLES,
            "Published tables without a snapshot because they hold counters.",
        )
        for reason in REASONS:
            self.quarantined.labels(reason)
        for way in (TRANSFERRED, KEPT):
            self.segments_finished.labels(way)
        for phase in Phase:
            self.segments.labels(phase.value)

    def reached(self, segment_id: int, position: int) -> None:
        self.read_segment.set(segment_id)
        self.read_position.set(position)

    def acknowledged(self, segment_id: int, position: int) -> None:
        """A segment is acknowledged up to a position."""
        self.acknowledged_segment.set(segment_id)
        self.acknowledged_position.set(position)
