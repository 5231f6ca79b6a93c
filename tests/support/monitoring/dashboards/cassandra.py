"""Level 2: one Cassandra agent and its node."""

from typing import Any

from tests.support.monitoring.dashboards.agent import delivery, now, of, process, quarantine, rate
from tests.support.monitoring.dashboards.dashboard import CASSANDRA, agent_variables, dashboard
from tests.support.monitoring.dashboards.panels import (
    CDC_RAW_FULL_IN,
    CDC_RAW_USED,
    LATE,
    Limits,
    Query,
    Row,
    graph,
    stat,
    timeline,
    yes_no,
)


def cassandra() -> dict[str, Any]:
    """The dashboard of a Cassandra agent."""
    used = f"{of('cdc_raw_bytes')} / {of('cdc_raw_limit_bytes')}"
    first = now(
        stat(
            "cdc_raw used",
            "percentunit",
            Query(used),
            about="Of the quota. Unknown: run the GRANT in /health.",
            limits=CDC_RAW_USED,
        ),
        stat(
            "cdc_raw full in",
            "s",
            Query(of("cdc_raw_time_to_full_seconds")),
            about="At the growth of the last ten minutes. Never: it does not grow.",
            limits=CDC_RAW_FULL_IN,
        ),
        stat(
            "Quarantined segments",
            "short",
            Query(of("cdc_quarantine_segments")),
            about="Segments that wait for your decision.",
            limits=Limits(critical=1),
        ),
    )
    raw = Row(
        "cdc_raw",
        (
            graph(
                "Size",
                "bytes",
                Query(of("cdc_raw_bytes"), "used"),
                Query(of("cdc_raw_limit_bytes"), "quota"),
                about="At the quota the node rejects writes or deletes unread segments.",
            ),
            graph(
                "Full in",
                "s",
                Query(of("cdc_raw_time_to_full_seconds"), "forecast"),
                about="At the growth of the last ten minutes. No line: it does not grow.",
                limits=CDC_RAW_FULL_IN,
            ),
            graph(
                "Unacknowledged bytes",
                "bytes",
                Query(of("cdc_lag_bytes"), "not acknowledged"),
                about="Readable bytes of all segments that are not acknowledged.",
            ),
            timeline(
                "inotify works",
                Query(of("cdc_inotify_active"), "inotify"),
                about="No: the agent polls cdc_raw, so events are a little late.",
                mappings=yes_no(no="orange"),
            ),
        ),
    )
    segments = Row(
        "Segments",
        (
            graph(
                "Segments by state",
                "short",
                Query(of("cdc_segments"), "{{state}}"),
                about="Segments in cdc_raw.",
                is_stacked=True,
            ),
            graph(
                "Finished segments",
                "short",
                Query(f"increase({of('cdc_segments_finished_total')}[1h])", "{{disposition}}"),
                about="In the last hour, by disposition.",
            ),
            timeline(
                "Reading is blocked",
                Query(of("cdc_blocked"), "blocked"),
                about="A segment waits for a schema, a key, the registry or its file.",
                mappings=yes_no("red", "green"),
            ),
            graph(
                "Blocked for",
                "s",
                Query(of("cdc_blocked_seconds"), "blocked"),
                about="Time for which the current segment has been blocked.",
                limits=LATE,
            ),
            graph(
                "Segments between read and acknowledged",
                "short",
                Query(
                    f"{of('cdc_read_segment_id')} - {of('cdc_acknowledged_segment_id')}",
                    "distance of ids",
                ),
                about="Difference of the segment ids of the two positions.",
            ),
            graph(
                "Positions",
                "bytes",
                Query(of("cdc_read_position_bytes"), "read"),
                Query(of("cdc_acknowledged_position_bytes"), "acknowledged"),
                about="Positions in their segments.",
            ),
        ),
    )
    events = Row(
        "Events",
        (
            graph(
                "Events by table",
                "ops",
                Query(f"topk(15, {rate('cdc_events_total', 'table')})", "{{table}}"),
                about="Read per second; the 15 busiest tables.",
                is_stacked=True,
            ),
            graph(
                "Events by operation",
                "ops",
                Query(rate("cdc_events_total", "op"), "{{op}}"),
                about="Read per second.",
                is_stacked=True,
            ),
            graph(
                "Mutations and skipped updates",
                "ops",
                Query(rate("cdc_mutations_total"), "mutations"),
                Query(rate("cdc_skipped_updates_total", "reason"), "skipped: {{reason}}"),
                about="Per second. Skipped updates have no event.",
            ),
        ),
    )
    snapshots = Row(
        "Snapshots",
        (
            graph(
                "Tables by state",
                "short",
                Query(of("cdc_snapshot_tables"), "{{state}}"),
                Query(of("cdc_snapshot_unsupported_tables"), "without snapshot (counters)"),
                about="Published tables.",
                is_stacked=True,
            ),
            graph(
                "Progress",
                "percentunit",
                Query(of("cdc_snapshot_progress_ratio"), "{{table}}"),
                about="Token ranges with an acknowledged snapshot.",
                maximum=1,
            ),
            graph(
                "Rows",
                "ops",
                Query(rate("cdc_snapshot_rows_total", "table"), "{{table}}"),
                about="Read per second.",
            ),
            timeline(
                "Snapshot waits",
                Query(of("cdc_snapshot_waiting"), "waits"),
                about="Rows cannot be read now; the snapshot resumes.",
                mappings=yes_no("orange", "green"),
            ),
        ),
    )
    transfer = Row(
        "Transfer to a remote store",
        (
            timeline(
                "Store accepts segments",
                Query(of("cdc_transfer_up"), "store"),
                about="No: finished segments accumulate in the relocation directory.",
                mappings=yes_no(),
            ),
            graph(
                "Waiting bytes",
                "bytes",
                Query(of("cdc_transfer_backlog_bytes"), "waiting"),
                Query(of("cdc_transfer_backlog_limit_bytes"), "limit"),
                about="At the limit finished segments stay in cdc_raw. No limit: no remote store.",
            ),
            graph(
                "Waiting segments",
                "short",
                Query(of("cdc_transfer_backlog_segments"), "waiting"),
                about="Segments that left cdc_raw and are not in the store.",
            ),
            graph(
                "Throughput",
                "Bps",
                Query(rate("cdc_transferred_bytes_total"), "sent"),
                about="Bytes per second to the store.",
            ),
            graph(
                "Transfers",
                "short",
                Query(f"increase({of('cdc_transferred_segments_total')}[1h])", "received"),
                Query(f"increase({of('cdc_transfer_failures_total')}[1h])", "failed attempts"),
                about="In the last hour.",
            ),
        ),
    )
    schema = Row(
        "Schema",
        (
            graph(
                "Tables",
                "short",
                Query(of("cdc_schema_tables"), "known"),
                Query(of("cdc_published_tables"), "published"),
                about="Published: cdc is enabled and no list excludes the table.",
            ),
            graph(
                "Schema changes",
                "short",
                Query(f"increase({of('cdc_schema_changes_total')}[1h])", "messages"),
                about="Messages for the schema-change topic in the last hour.",
            ),
            graph(
                "Tables with unlogged writes",
                "short",
                Query(of("cdc_table_unlogged"), "{{keyspace}}.{{table}}: {{reason}}"),
                Query(of("cdc_unlogged_tables"), "tables"),
                about="Published tables whose writes bypass the commit log, so they have no event.",
                limits=Limits(critical=1),
            ),
            graph(
                "Waiting transactions",
                "short",
                Query(of("cdc_accord_waiting_transactions"), "transactions"),
                about="Transactions in the Accord journal that the node has not applied.",
            ),
            graph(
                "Age of the oldest waiting transaction",
                "s",
                Query(of("cdc_accord_oldest_waiting_seconds"), "age"),
                about="Age of the oldest transaction that the node has not applied.",
            ),
            graph(
                "Age of the watermark",
                "s",
                Query(f"time() - {of('cdc_watermark_timestamp_seconds')}", "age"),
                about="Kafka has every write that the node logged before this time.",
            ),
            graph(
                "Watermarks",
                "short",
                Query(f"increase({of('cdc_watermarks_total')}[1h])", "messages"),
                about="Messages for the watermark topic in the last hour.",
            ),
        ),
    )
    kept = quarantine(
        graph(
            "Segments",
            "short",
            Query(of("cdc_quarantine_segments"), "quarantined"),
            about="Quarantined segments and segments with dead letters.",
            limits=Limits(critical=1),
        )
    )
    rows = (first, delivery(), raw, segments, events, kept, snapshots, transfer, schema, process())
    return dashboard(
        CASSANDRA,
        "cdc-sidecar: Cassandra agent",
        "One agent and its node.",
        agent_variables(CASSANDRA, has_agent=True),
        rows,
    )
