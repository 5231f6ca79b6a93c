"""The agent's properties of snapshots: rows that were there before."""

from typing import Annotated, Literal

from sidecar.properties import LowerCase, Milliseconds, Properties, UpperCase, prop

Consistency = Literal[
    "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "LOCAL_ONE"
]


class SnapshotProperties(Properties):
    """Rows that were there before."""

    snapshot_mode: Annotated[Literal["initial", "always", "never"], LowerCase] = prop(
        "snapshot.mode",
        default="initial",
        doc="Which tables with `cdc = true` are copied, each once. `initial`: those that are there "
        "when the agent starts; `always`: also those that are published later; `never`: none but "
        "by `agent snapshot start`. See docs/how-to/snapshots.md.",
    )
    snapshot_consistency: Annotated[Consistency, UpperCase] = prop(
        "snapshot.consistency",
        default="ALL",
        doc="Consistency level of the copy. With `ALL` nothing that any replica has is missed, and "
        "the copy waits while one of them is away; with a lower level a write that is only on the "
        "replicas that were not asked comes with the log of those, if they have an agent.",
    )
    snapshot_scan_interval_ms: Milliseconds = prop(
        "snapshot.scan.interval.ms",
        default=10_000,
        gt=0,
        doc="How often the tables of the node are looked at for such that are published or not "
        "published any more; a change of schema is seen at once.",
    )
    snapshot_rows_per_second: int = prop(
        "snapshot.rows.per.second",
        default=0,
        ge=0,
        doc="At most so many rows are read in a second; `0`: as fast as they are delivered.",
    )
    snapshot_ranges: Annotated[Literal["primary", "all"], LowerCase] = prop(
        "snapshot.ranges",
        default="primary",
        doc="`primary`: the token ranges whose first replica is this node, so that the agents of "
        "all nodes make one copy. `all`: the whole ring, for a cluster in which only this agent "
        "copies.",
    )
