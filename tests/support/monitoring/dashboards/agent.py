"""Rows of level 2 that both agents have."""

from tests.support.monitoring.dashboards.dashboard import TARGET
from tests.support.monitoring.dashboards.panels import (
    LATE,
    STATES,
    Limits,
    Panel,
    Query,
    Row,
    graph,
    listing,
    stat,
    timeline,
    yes_no,
)

ONE = 'instance="$instance"'
RATE = "$__rate_interval"


def of(metric: str, matchers: str = "") -> str:
    """A metric of the chosen agent."""
    return f"{metric}{{{', '.join(filter(None, (ONE, matchers)))}}}"


def rate(metric: str, by: str = "") -> str:
    """The increase of a counter per second, by a label."""
    each = f"rate({of(metric)}[{RATE}])"
    return f"sum by ({by}) ({each})" if by else each


FAILING, DEGRADED = 'status="failing"', 'status="degraded"'
STATE = (
    f"2 * {of('cdc_status', FAILING)} "
    f"+ on ({TARGET}) {of('cdc_status', DEGRADED)} or (up{{{ONE}}} == 0) + 3"
)


def now(*panels: Panel) -> Row:
    """State, identity and conditions, then the panels of one kind of agent."""
    return Row(
        "Now",
        (
            stat(
                "State",
                "none",
                Query(STATE),
                about="Worst of the conditions; no answer: the scrape fails.",
                mappings=STATES,
                none="not seen",
            ),
            stat(
                "Lag",
                "s",
                Query(of("cdc_lag_seconds")),
                about="Age of the last delivered change while something waits.",
                limits=LATE,
            ),
            *panels,
            stat(
                "Uptime",
                "s",
                Query(f"time() - {of('process_start_time_seconds')}"),
                about="Time since the start of the process.",
            ),
            listing(
                "Conditions",
                f"{of('cdc_condition')} == 1",
                {"status": "Status", "code": "Condition"},
                about="Causes of the state; /health has the remedies.",
                width=8,
            ),
            listing(
                "Identity",
                of("cdc_build_info"),
                {
                    "cluster": "Cluster",
                    "datacenter": "Datacenter",
                    "rack": "Rack",
                    "host": "Host",
                    "node_id": "Node",
                    "topic_prefix": "Topic prefix",
                    "version": "Version",
                },
                about="The agent and its node.",
                width=16,
            ),
            timeline(
                "State over time",
                Query(STATE, "state"),
                about="Gaps: Prometheus has no scrape.",
                mappings=STATES,
                width=24,
            ),
        ),
    )


def delivery() -> Row:
    """From the window to the sink, and offsets."""
    return Row(
        "Delivery",
        (
            graph(
                "Lag",
                "s",
                Query(of("cdc_lag_seconds"), "lag"),
                Query(of("cdc_unacknowledged_age_seconds"), "oldest unacknowledged event"),
                about="Both return to 0 when everything is delivered.",
                limits=LATE,
            ),
            graph(
                "Events",
                "ops",
                Query(rate("cdc_events_sent_total"), "sent"),
                Query(rate("cdc_events_acknowledged_total"), "acknowledged"),
                Query(rate("cdc_events_failed_total"), "rejected"),
                about="Per second. Repeats after a restart count again as sent.",
            ),
            timeline(
                "Sink accepts events",
                Query(of("cdc_sink_up"), "sink"),
                about="No: the broker is away or rejects the agent.",
                mappings=yes_no(),
            ),
            graph(
                "Events in the window",
                "short",
                Query(of("cdc_unacknowledged_events"), "unacknowledged"),
                Query(of("cdc_window_limit_events"), "limit"),
                about="Reading pauses at the limit.",
            ),
            graph(
                "Bytes in the window",
                "bytes",
                Query(of("cdc_window_bytes"), "used"),
                Query(of("cdc_window_limit_bytes"), "limit"),
                about="Reading pauses at the limit.",
            ),
            graph(
                "Restarts of delivery",
                "short",
                Query(f"increase({of('cdc_sink_restarts_total')}[{RATE}])", "restarts"),
                about="Each restart repeats the unacknowledged events.",
                limits=Limits(warning=1),
            ),
            graph(
                "Age of the stored offsets",
                "s",
                Query(f"time() - {of('cdc_offset_saved_timestamp_seconds')}", "age"),
                about="A restart repeats the events of this time. It grows while nothing arrives.",
            ),
            graph(
                "Saved offsets",
                "ops",
                Query(rate("cdc_offset_saves_total"), "saved"),
                Query(rate("cdc_offset_save_failures_total"), "failed"),
                about="Per second.",
            ),
        ),
    )


def quarantine(*panels: Panel) -> Row:
    """Changes that could not be delivered."""
    return Row(
        "Quarantine",
        (
            graph(
                "Size",
                "bytes",
                Query(of("cdc_quarantine_bytes"), "used"),
                Query(of("cdc_quarantine_limit_bytes"), "limit"),
                about="At the limit reading waits at the next undeliverable change.",
            ),
            graph(
                "New entries",
                "short",
                Query(f"increase({of('cdc_quarantined_total')}[1h])", "{{reason}}"),
                about="In the last hour, by reason.",
                limits=Limits(critical=1),
            ),
            graph(
                "Dead-letter topic",
                "ops",
                Query(rate("cdc_dead_letter_topic_events_total"), "accepted"),
                Query(rate("cdc_dead_letter_topic_failures_total"), "not accepted, in files"),
                about="Rejected events per second, where a dead-letter topic is configured.",
            ),
            *panels,
        ),
    )


def process() -> Row:
    """What the agent uses of its machine."""
    return Row(
        "Process",
        (
            graph(
                "CPU",
                "percentunit",
                Query(rate("process_cpu_seconds_total"), "of one core"),
                about="100 %: one core.",
            ),
            graph(
                "Memory",
                "bytes",
                Query(of("process_resident_memory_bytes"), "resident"),
                about="Resident memory of the process.",
            ),
            graph(
                "Open files",
                "short",
                Query(of("process_open_fds"), "open"),
                Query(of("process_max_fds"), "limit"),
                about="File descriptors.",
            ),
            graph(
                "Restarts of the agent",
                "short",
                Query(f"changes({of('process_start_time_seconds')}[1h])", "restarts"),
                about="In the last hour.",
                limits=Limits(warning=1, critical=4),
            ),
        ),
    )
