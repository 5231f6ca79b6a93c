"""Properties of snapshots: copies of existing rows."""

from typing import Annotated, Literal

from sidecar.properties.model import Properties, prop
from sidecar.properties.types import LowerCase, Milliseconds, UpperCase

Consistency = Literal[
    "ONE",
    "TWO",
    "THREE",
    "QUORUM",
    "ALL",
    "LOCAL_QUORUM",
    "EACH_QUORUM",
    "LOCAL_ONE",
    "NODE_LOCAL",
]


class SnapshotProperties(Properties):
    snapshot_mode: Annotated[Literal["initial", "always", "never"], LowerCase] = prop(
        "snapshot.mode",
        default="initial",
        doc="Which tables with `cdc = true` the agent copies, each once. `initial`: those that "
        "exist when the agent starts. `always`: also those that are published later. `never`: "
        "none; only `agent snapshot start` copies a table. See docs/how-to/snapshots.md.",
    )
    snapshot_consistency: Annotated[Consistency, UpperCase] = prop(
        "snapshot.consistency",
        default="ALL",
        doc="Consistency level of snapshot reads. `ALL` misses nothing that any replica has, and "
        "waits while a replica is unavailable. With a lower level, a write that the read missed "
        "arrives with the log of its replicas, if an agent runs there. `NODE_LOCAL`: only what "
        "this node has; the node needs `-Dcassandra.enable_nodelocal_queries=true`. See "
        "docs/how-to/snapshots.md.",
    )
    snapshot_scan_interval_ms: Milliseconds = prop(
        "snapshot.scan.interval.ms",
        default=10_000,
        gt=0,
        doc="Interval between two reads of the node's tables, to find newly published and "
        "unpublished ones. A change of schema triggers a read at once.",
    )
    snapshot_rows_per_second: int = prop(
        "snapshot.rows.per.second",
        default=0,
        ge=0,
        doc="Limit of rows per second. `0`: no limit.",
    )
    snapshot_ranges: Annotated[Literal["primary", "replica", "all"], LowerCase] = prop(
        "snapshot.ranges",
        default="primary",
        doc="`primary`: the token ranges whose first replica is this node, so that the agents of "
        "all nodes together copy the data once. `replica`: those of which this node is any "
        "replica, which `snapshot.consistency=NODE_LOCAL` needs to be complete. `all`: the whole "
        "ring, for a cluster where only this agent copies.",
    )
