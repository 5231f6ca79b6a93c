"""`agent size`: compute the resources for a write rate, from measured costs.

The constants are figures of docs/evidence/benchmarks.md; tests compare them.
"""

from dataclasses import dataclass

import click

from agent.config.loader import AgentConfig
from sidecar.cli.invocation import Invocation
from sidecar.cli.output import json_output, print_json, print_rows
from sidecar.quantities import duration_text, size_text

MEASURED_BYTES = 140
"""Bytes of the mutations whose CPU time and rate were measured; larger ones take more time."""
CPU_US = 7.3
"""CPU time per event with `cells` in JSON."""
MOST_EVENTS_PER_S = 184_300
"""The rate of an agent on two cores that it shares with the broker."""
PEAK_BYTES = 146 << 20
"""Memory of the agent with the default window, without snapshots and uploads."""
EVENT_BYTES = ((140, 1153), (1024, 3213))
"""Bytes of mutations, and of their keys and values in JSON with `cells`."""
RECORD_OVERHEAD_BYTES = 12
"""Bytes that the commit log adds to a mutation: its size and two checksums."""
SEGMENT_BYTES = 32 << 20
_SEGMENTS = 2
"""Segments in `cdc_raw` without an outage: the current one and its predecessor."""


@dataclass(frozen=True, slots=True)
class Sizing:
    """Resources of one node's agent, and of the topics of the whole cluster."""

    events_per_s: float
    """Events of one node: each replica publishes its own."""
    agent_cores: float
    """Busy cores; more with mutations above 140 bytes."""
    agent_memory_bytes: int
    cdc_total_space_bytes: int
    """Least `cdc_total_space` for the outage."""
    catch_up_s: float | None
    """Duration of the delivery of the backlog after the outage; null if it never ends. More with
    mutations above 140 bytes."""
    cluster_events_per_s: float
    """Events of all nodes, including the replicas' copies."""
    topic_bytes_per_s: float
    """Bytes of keys and values of all nodes, before compression and Kafka's replication."""


def compute_sizing(
    *, writes: float, mutation_bytes: int, nodes: int, replication_factor: int, outage_s: float
) -> Sizing:
    """Compute the resources for `writes` per second to the captured tables of a cluster."""
    cluster_rate = writes * replication_factor
    rate = cluster_rate / nodes
    (small, small_event), (large, large_event) = EVENT_BYTES
    growth = (large_event - small_event) / (large - small)
    event_bytes = small_event + growth * (mutation_bytes - small)
    log_bytes_per_s = rate * (mutation_bytes + RECORD_OVERHEAD_BYTES)
    spare = MOST_EVENTS_PER_S - rate
    return Sizing(
        events_per_s=rate,
        agent_cores=rate * CPU_US / 1e6,
        agent_memory_bytes=PEAK_BYTES,
        cdc_total_space_bytes=round(log_bytes_per_s * outage_s) + _SEGMENTS * SEGMENT_BYTES,
        catch_up_s=rate * outage_s / spare if spare > 0 else None,
        cluster_events_per_s=cluster_rate,
        topic_bytes_per_s=cluster_rate * event_bytes,
    )


@click.command("size", short_help="Compute CPU, memory and disk for a write rate.")
@click.option(
    "--writes",
    type=click.FloatRange(min=0),
    required=True,
    metavar="N",
    help="Rows written per second to the captured tables of the cluster.",
)
@click.option(
    "--nodes", type=click.IntRange(min=1), required=True, metavar="N", help="Nodes of the cluster."
)
@click.option(
    "--replication-factor",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="Replicas of each row, in all datacenters with agents.",
)
@click.option(
    "--mutation-bytes",
    type=click.IntRange(min=1),
    default=140,
    show_default=True,
    metavar="N",
    help="Bytes of a row's write in the commit log.",
)
@click.option(
    "--outage-hours",
    type=click.FloatRange(min=0),
    default=4.0,
    show_default=True,
    metavar="HOURS",
    help="Duration of an outage of the broker without lost changes.",
)
@json_output(Sizing)
@click.pass_obj
def size(
    invocation: Invocation[AgentConfig],
    writes: float,
    nodes: int,
    replication_factor: int,
    mutation_bytes: int,
    outage_hours: float,
) -> None:
    """Compute the resources for a write rate, from the figures in docs/evidence/benchmarks.md.

    Example: 60 nodes with 200,000 writes per second, and outages of 4 hours:
    agent size --nodes 60 --writes 200000
    """
    if replication_factor > nodes:
        raise click.UsageError(
            f"--replication-factor {replication_factor} exceeds --nodes {nodes}."
        )
    found = compute_sizing(
        writes=writes,
        mutation_bytes=mutation_bytes,
        nodes=nodes,
        replication_factor=replication_factor,
        outage_s=outage_hours * 3600,
    )
    if invocation.is_json:
        print_json(found)
        return
    least = "at least " if mutation_bytes > MEASURED_BYTES else ""
    catch_up = "never: add nodes"
    if found.catch_up_s is not None:
        catch_up = least + duration_text(found.catch_up_s)
    print_rows(
        ("resource", "value"),
        [
            ("events of a node", f"{found.events_per_s:,.0f}/s"),
            ("CPU of its agent", f"{least}{found.agent_cores:.2f} cores"),
            ("memory of its agent", size_text(found.agent_memory_bytes)),
            ("cdc_total_space", size_text(found.cdc_total_space_bytes)),
            ("catch-up after the outage", catch_up),
            ("events of the cluster", f"{found.cluster_events_per_s:,.0f}/s"),
            ("data of the topics", f"{size_text(found.topic_bytes_per_s)}/s before compression"),
        ],
    )
