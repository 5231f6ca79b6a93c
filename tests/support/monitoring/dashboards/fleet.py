"""Level 1: all agents, the worst first, each with a link to its own dashboard."""

from typing import Any

from tests.support.monitoring.dashboards.dashboard import TARGET, agent_variables, dashboard
from tests.support.monitoring.dashboards.panels import (
    CDC_RAW_FULL_IN,
    CDC_RAW_USED,
    LATE,
    OPLOG_HEADROOM,
    STATES,
    Column,
    Limits,
    Query,
    Row,
    bars,
    graph,
    listing,
    stat,
    table,
)

BUILD = 'cdc_build_info{cluster=~"$cluster", datacenter=~"$datacenter"}'
SEEN = f"last_over_time({BUILD}[1d])"
"""The identity of agents that answered within a day; a silent one stays in the table."""
MARKED = 'up{cdc_agent!="", cluster=~"$cluster"} == 0'
"""Targets with the label of agents, also those that never answered."""
DOWN = f"({MARKED} or (up == 0) and on ({TARGET}) {SEEN})"
NAMED = "{{cluster}} {{host}} {{instance}}"
LINK = (
    "/d/${__data.fields.Service}?${datasource:queryparam}"
    "&var-instance=${__data.fields.Agent:percentencode}&${__url_time_range}"
)


def chosen(expr: str) -> str:
    """Series of the chosen agents, with the labels that name them."""
    return f"({expr}) * on ({TARGET}) group_left (cluster, datacenter, host) {BUILD}"


def worst(expr: str) -> str:
    """One value for each chosen agent."""
    return f"max by (instance) (({expr}) and on ({TARGET}) {BUILD})"


STATE = (
    f"max by (instance) ({DOWN} + 3 or "
    f'(2 * cdc_status{{status="failing"}} + on ({TARGET}) cdc_status{{status="degraded"}}) '
    f"and on ({TARGET}) {BUILD})"
)
AGENTS = (
    f"group by (instance, service_name, cluster, datacenter, host, version) ({BUILD} or "
    f"({SEEN} and on ({TARGET}) (up == 0)) or "
    # The label has the end of the name of the service.
    f"label_replace(({MARKED}) unless on ({TARGET}) {SEEN}, "
    '"service_name", "cdc-sidecar-$1", "cdc_agent", "(.*)"))'
)
RAW_USED = "cdc_raw_bytes / cdc_raw_limit_bytes"
QUARANTINE = "cdc_quarantine_bytes"
SNAPSHOT = (
    f"avg by ({TARGET}) (cdc_snapshot_progress_ratio) or "
    "1 - clamp_max(cdc_snapshot_remaining_collections, 1)"
)

COLUMNS = (
    Column("State", STATE, mappings=STATES),
    Column("Agent", label="instance", link=LINK),
    Column("Host", label="host"),
    Column("Cluster", label="cluster"),
    Column("Datacenter", label="datacenter"),
    Column("Lag", worst("cdc_lag_seconds"), unit="s", limits=LATE),
    Column("Unacknowledged for", worst("cdc_unacknowledged_age_seconds"), unit="s", limits=LATE),
    Column("cdc_raw used", worst(RAW_USED), unit="percentunit", limits=CDC_RAW_USED),
    Column(
        "cdc_raw full in", worst("cdc_raw_time_to_full_seconds"), unit="s", limits=CDC_RAW_FULL_IN
    ),
    Column(
        "Oplog headroom",
        worst("min without (stream) (cdc_oplog_headroom_seconds)"),
        unit="s",
        limits=OPLOG_HEADROOM,
    ),
    Column("Quarantine", worst(QUARANTINE), unit="bytes", limits=Limits(1)),
    Column("Uploads waiting", worst("cdc_transfer_backlog_bytes"), unit="bytes"),
    Column("Snapshot", worst(SNAPSHOT), unit="percentunit"),
    Column("Uptime", worst("time() - process_start_time_seconds"), unit="s"),
    Column("Version", label="version"),
    Column("Service", label="service_name"),
)


def fleet() -> dict[str, Any]:
    """The dashboard `cdc-sidecar`."""
    now = Row(
        "Now",
        (
            stat(
                "Agents", "short", Query(f"count({BUILD})"), about="Agents that answer.", none="0"
            ),
            stat(
                "No answer",
                "short",
                Query(f"count({DOWN}) or vector(0)"),
                about="Agents of the last day, and targets marked as agents, that do not answer.",
                limits=Limits(critical=1),
            ),
            stat(
                "Failing",
                "short",
                Query(f'sum(cdc_status{{status="failing"}} and on ({TARGET}) {BUILD})'),
                about="Agents that deliver no events.",
                limits=Limits(critical=1),
            ),
            stat(
                "Degraded",
                "short",
                Query(f'sum(cdc_status{{status="degraded"}} and on ({TARGET}) {BUILD})'),
                about="Agents that deliver events and need attention.",
                limits=Limits(warning=1),
            ),
            stat(
                "Largest lag",
                "s",
                Query(f"max(cdc_lag_seconds and on ({TARGET}) {BUILD})"),
                about="Age of the last delivered write of the slowest agent while something waits.",
                limits=LATE,
            ),
            stat(
                "First cdc_raw full in",
                "s",
                Query(f"min(cdc_raw_time_to_full_seconds and on ({TARGET}) {BUILD})"),
                about="Shortest forecast of all Cassandra agents. Never: no directory grows.",
                limits=CDC_RAW_FULL_IN,
            ),
        ),
    )
    agents = Row(
        "Agents, the worst first",
        (
            table(
                "Agents",
                COLUMNS,
                about="Click an agent for its own dashboard. Empty cells do not apply to it.",
                labels=AGENTS,
                sort=("State", "Lag"),
                height=14,
            ),
            listing(
                "Conditions",
                chosen("cdc_condition == 1"),
                {
                    "status": "Status",
                    "code": "Condition",
                    "cluster": "Cluster",
                    "host": "Host",
                    "instance": "Agent",
                },
                about="Causes of the states; /health of an agent has the remedies.",
                width=12,
            ),
            bars(
                "Versions",
                "short",
                Query(f"count by (version) ({BUILD})", "{{version}}"),
                about="Agents by version.",
                width=6,
            ),
            bars(
                "Clusters",
                "short",
                Query(f"count by (cluster) ({BUILD})", "{{cluster}}"),
                about="Agents by cluster.",
                width=6,
            ),
        ),
    )
    trends = Row(
        "Trends",
        (
            graph(
                "Agents by state",
                "short",
                Query(f"sum by (status) (cdc_status and on ({TARGET}) {BUILD})", "{{status}}"),
                Query(f"count({DOWN}) or vector(0)", "no answer"),
                about="Each agent has one state.",
                is_stacked=True,
            ),
            graph(
                "Largest lags",
                "s",
                Query(f"topk(10, {chosen('cdc_lag_seconds')})", NAMED),
                about="Ten agents with the largest lag at each time.",
                limits=LATE,
            ),
            graph(
                "Fullest cdc_raw",
                "percentunit",
                Query(f"topk(10, {chosen(RAW_USED)})", NAMED),
                about="Ten nodes whose cdc_raw uses the largest part of its quota.",
                limits=CDC_RAW_USED,
            ),
            graph(
                "Acknowledged events",
                "ops",
                Query(
                    "sum by (cluster) ("
                    + chosen("rate(cdc_events_acknowledged_total[$__rate_interval])")
                    + ")",
                    "{{cluster}}",
                ),
                about="Events that the sinks acknowledged, per second, by cluster.",
                is_stacked=True,
            ),
            graph(
                "Quarantined and rejected",
                "short",
                Query(f"topk(10, {chosen('increase(cdc_quarantined_total[1h])')})", NAMED),
                about="Changes that could not be delivered, in the last hour.",
                limits=Limits(critical=1),
            ),
            graph(
                "Memory",
                "bytes",
                Query(f"topk(10, {chosen('process_resident_memory_bytes')})", NAMED),
                about="Ten agents with the largest resident memory.",
            ),
        ),
    )
    return dashboard(
        "cdc-sidecar",
        "cdc-sidecar: fleet",
        "All agents, the worst first.",
        agent_variables(has_agent=False),
        (now, agents, trends),
    )
