"""Level 2: one MongoDB agent and its replica set."""

from typing import Any

from tests.support.monitoring.dashboards.agent import delivery, now, of, process, quarantine, rate
from tests.support.monitoring.dashboards.dashboard import MONGO, agent_variables, dashboard
from tests.support.monitoring.dashboards.panels import (
    LATE,
    OPLOG_HEADROOM,
    Limits,
    Query,
    Row,
    graph,
    stat,
    timeline,
    yes_no,
)


def mongo() -> dict[str, Any]:
    """The dashboard of a MongoDB agent."""
    first = now(
        stat(
            "Open streams",
            "short",
            Query(f"sum({of('cdc_stream_open')})"),
            about="Change streams that are open.",
            limits=Limits(critical=1, is_floor=True),
        ),
        stat(
            "Stream behind",
            "s",
            Query(f"max({of('cdc_stream_age_seconds')})"),
            about="Age of the cluster time up to which the slowest stream is read.",
            limits=LATE,
        ),
        stat(
            "Oplog headroom",
            "s",
            Query(f"min({of('cdc_oplog_headroom_seconds')})"),
            about="Below 0 changes are lost. Unknown: the agent may not read the oplog.",
            limits=OPLOG_HEADROOM,
        ),
    )
    streams = Row(
        "Change streams",
        (
            timeline(
                "Stream is open",
                Query(of("cdc_stream_open"), "{{stream}}"),
                about="No: servers are unavailable or rights are revoked.",
                mappings=yes_no(),
            ),
            timeline(
                "Agent is the leader",
                Query(of("cdc_leader"), "{{group}}"),
                about="With standby.enabled. No: another agent of the group delivers.",
                mappings=yes_no(),
            ),
            graph(
                "Behind",
                "s",
                Query(of("cdc_stream_age_seconds"), "{{stream}}"),
                about="Age of the cluster time up to which a stream is read.",
                limits=LATE,
            ),
            graph(
                "Not acknowledged",
                "s",
                Query(
                    f"{of('cdc_read_cluster_time_seconds')} - "
                    f"{of('cdc_acknowledged_cluster_time_seconds')}",
                    "{{stream}}",
                ),
                about="Cluster time between the last read and the last acknowledged change.",
                limits=LATE,
            ),
            graph(
                "Oplog headroom",
                "s",
                Query(of("cdc_oplog_headroom_seconds"), "{{stream}}"),
                about="Time between the oldest entry of the oplog and the stored position.",
                limits=OPLOG_HEADROOM,
            ),
            graph(
                "Reopened streams",
                "short",
                Query(f"increase({of('cdc_stream_reopenings_total')}[1h])", "{{stream}}"),
                about="In the last hour.",
                limits=Limits(warning=6),
            ),
            graph(
                "Elections and heartbeats",
                "short",
                Query(f"increase({of('cdc_elections_total')}[1h])", "elections"),
                Query(f"increase({of('cdc_heartbeats_total')}[1h])", "heartbeats"),
                about="In the last hour.",
            ),
        ),
    )
    events = Row(
        "Events",
        (
            graph(
                "Events by collection",
                "ops",
                Query(f"topk(15, {rate('cdc_events_total', 'collection')})", "{{collection}}"),
                about="Messages per second; the 15 busiest collections.",
                is_stacked=True,
            ),
            graph(
                "Events by kind",
                "ops",
                Query(rate("cdc_events_total", "kind"), "{{kind}}"),
                about="Messages per second.",
                is_stacked=True,
            ),
            graph(
                "Skipped events",
                "ops",
                Query(rate("cdc_skipped_events_total", "reason"), "{{reason}}"),
                about="Events per second without a message.",
            ),
        ),
    )
    snapshots = Row(
        "Snapshots and signals",
        (
            timeline(
                "Snapshot",
                Query(of("cdc_snapshot_running"), "running"),
                Query(of("cdc_snapshot_paused"), "paused"),
                about="A paused snapshot waits for the signal resume-snapshot.",
                mappings=yes_no("blue", "text"),
            ),
            graph(
                "Remaining collections",
                "short",
                Query(of("cdc_snapshot_remaining_collections"), "remaining"),
                about="Collections whose snapshot is not complete.",
            ),
            graph(
                "Signals",
                "short",
                Query(f"increase({of('cdc_signals_total')}[1h])", "{{type}}: {{answer}}"),
                about="In the last hour.",
            ),
        ),
    )
    rows = (first, delivery(), streams, events, quarantine(), snapshots, process())
    return dashboard(
        MONGO,
        "cdc-sidecar: MongoDB agent",
        "One agent and its replica set.",
        agent_variables(MONGO, has_agent=True),
        rows,
    )
