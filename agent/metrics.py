"""Prometheus metrics of the agent, beside those of its delivery. Names carry their unit."""

import math

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
RAW_FULL_SECONDS = "cdc_raw_full_seconds"
BLOCKED = "cdc_held"
HELD_SECONDS = "cdc_held_seconds"
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
WATCHING = "cdc_watching"
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
    """What the agent counts. Counters are moved where things happen; gauges are set from views."""

    def __init__(self, delivery: DeliveryMetrics) -> None:
        self.delivery = delivery
        registry = delivery.registry
        self.events = Counter(
            EVENTS, "Events read, repeats included.", ("table", "op"), registry=registry
        )
        self.mutations = Counter(MUTATIONS, "Mutations read, repeats included.", registry=registry)
        self.skipped_updates = Counter(
            SKIPPED_UPDATES,
            "Partition updates that give no events, by reason.",
            ("reason",),
            registry=registry,
        )
        self.quarantined = Counter(
            QUARANTINED,
            "Ranges and events that could not be delivered and are on record, by reason.",
            ("reason",),
            registry=registry,
        )
        self.segments_finished = Counter(
            SEGMENTS_FINISHED, "Segments that left cdc_raw, by way.", ("way",), registry=registry
        )
        self.read_segment = Gauge(READ_SEGMENT, "Segment that was read last.", registry=registry)
        self.read_position = Gauge(
            READ_POSITION, "Logical position up to which it is read.", registry=registry
        )
        self.acknowledged_segment = Gauge(
            ACKNOWLEDGED_SEGMENT, "Segment of the last acknowledged position.", registry=registry
        )
        self.acknowledged_position = Gauge(
            ACKNOWLEDGED_POSITION, "Logical position acknowledged in it.", registry=registry
        )
        self.lag_bytes = Gauge(
            LAG_BYTES,
            "Bytes of all segments that can be read and are not acknowledged.",
            registry=registry,
        )
        self.lag_seconds = Gauge(
            LAG_SECONDS,
            "While bytes wait: age of the last acknowledged write, at most the time since all was "
            "delivered; else 0.",
            registry=registry,
        )
        self.segments = Gauge(SEGMENTS, "Segments by state.", ("state",), registry=registry)
        self.raw_bytes = Gauge(RAW_BYTES, "Size of the segments in cdc_raw.", registry=registry)
        self.raw_limit_bytes = Gauge(
            RAW_LIMIT_BYTES,
            "Size at which the node rejects writes or drops segments; NaN: not known.",
            registry=registry,
        )
        self.raw_full_seconds = Gauge(
            RAW_FULL_SECONDS,
            "Time until cdc_raw is full at the growth of the last ten minutes; +Inf: it does not "
            "grow, NaN: not known.",
            registry=registry,
        )
        self.held = Gauge(
            BLOCKED,
            "1 while a segment waits for a schema, a key, a registry or its file, else 0.",
            registry=registry,
        )
        self.held_seconds = Gauge(HELD_SECONDS, "For how long it waits.", registry=registry)
        self.quarantine_bytes = Gauge(
            QUARANTINE_BYTES, "Size of the quarantine.", registry=registry
        )
        self.quarantine_segments = Gauge(
            QUARANTINE_SEGMENTS,
            "Segments of which it holds ranges or events that were not delivered.",
            registry=registry,
        )
        self.quarantine_limit_bytes = Gauge(
            QUARANTINE_LIMIT_BYTES, "Size that it may have.", registry=registry
        )
        self.transfer_up = Gauge(
            TRANSFER_UP, "0 while segments cannot be sent to the remote store.", registry=registry
        )
        self.transfer_up.set(1)
        self.transfer_segments = Gauge(
            TRANSFER_SEGMENTS,
            "Segments that left cdc_raw and are not in the remote store.",
            registry=registry,
        )
        self.transfer_bytes = Gauge(
            TRANSFER_BYTES,
            "Size of the segments that left cdc_raw and are not in the remote store.",
            registry=registry,
        )
        self.transfer_limit_bytes = Gauge(
            TRANSFER_LIMIT_BYTES,
            "Size of them at which further ones stay in cdc_raw; NaN: there is no remote store.",
            registry=registry,
        )
        self.transfer_limit_bytes.set(math.nan)
        self.transferred_segments = Counter(
            TRANSFERRED_SEGMENTS, "Segments that the remote store has whole.", registry=registry
        )
        self.transferred_bytes = Counter(
            TRANSFERRED_BYTES, "Bytes sent to the remote store.", registry=registry
        )
        self.transfer_failures = Counter(
            TRANSFER_FAILURES,
            "Times that a segment could not be sent to the remote store.",
            registry=registry,
        )
        self.schema_tables = Gauge(SCHEMA_TABLES, "Tables that are known.", registry=registry)
        self.published_tables = Gauge(
            PUBLISHED_TABLES,
            "Tables whose changes are published: captured and not excluded; NaN: not known.",
            registry=registry,
        )
        self.watching = Gauge(
            WATCHING, "1 while inotify wakes the agent, 0 while it only polls.", registry=registry
        )
        self.snapshot_rows = Counter(
            SNAPSHOT_ROWS, "Rows that were copied, repeats included.", ("table",), registry=registry
        )
        self.snapshot_tables = Gauge(
            SNAPSHOT_TABLES, "Tables by the state of their copy.", ("state",), registry=registry
        )
        self.snapshot_progress = Gauge(
            SNAPSHOT_PROGRESS,
            "Part of its token ranges that is copied and acknowledged, from 0 to 1.",
            ("table",),
            registry=registry,
        )
        self.snapshot_waiting = Gauge(
            SNAPSHOT_WAITING, "1 while nothing can be read for the snapshot.", registry=registry
        )
        self.snapshot_counter_tables = Gauge(
            SNAPSHOT_COUNTER_TABLES,
            "Published tables that are not copied, since they hold counters.",
            registry=registry,
        )
        for reason in REASONS:
            self.quarantined.labels(reason)
        for way in (TRANSFERRED, KEPT):
            self.segments_finished.labels(way)
        for phase in Phase:
            self.segments.labels(phase.value)

    def reached(self, segment_id: int, position: int) -> None:
        """A segment is read up to a position."""
        self.read_segment.set(segment_id)
        self.read_position.set(position)

    def acknowledged(self, segment_id: int, position: int) -> None:
        """A segment is acknowledged up to a position."""
        self.acknowledged_segment.set(segment_id)
        self.acknowledged_position.set(position)
