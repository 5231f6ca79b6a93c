"""What a snapshot tells of itself: for /snapshot, /health and /metrics."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from agent.metrics import AgentMetrics
from agent.snapshot.offsets import State, TableSnapshot
from agent.snapshot.snapshot import Snapshot
from sidecar import status
from sidecar.status import Component, Condition, Status, component_of

_COMPONENT = "snapshot"


def snapshot_document(snapshot: Snapshot) -> dict[str, object]:
    """A value that JSON can say."""
    settings, copies = snapshot.settings, snapshot.progress.copies.values()
    return {
        "mode": settings.mode,
        "consistency": settings.consistency,
        "ranges": "all" if settings.copies_whole_ring else "primary",
        "is_running": any(copy.state is State.COPYING for copy in copies),
        "waiting": snapshot.trouble,
        "counter_tables": snapshot.counters,
        "tables": [_table(copy) for copy in copies],
    }


@dataclass(frozen=True, slots=True)
class SnapshotFacts:
    """What keeps rows from being copied; empty where nothing does."""

    error: str = ""
    """Why nothing can be read."""
    save_error: str = ""
    """Why the progress cannot be stored."""
    refused_table: str = ""
    refused_reason: str = ""


def snapshot_facts(snapshot: Snapshot | None, save_error: str = "") -> SnapshotFacts:
    """Of the snapshot as it is now; None where the node is not asked."""
    if snapshot is None:
        return SnapshotFacts(save_error=save_error)
    copies = snapshot.progress.copies.values()
    for copy in copies:
        if copy.state is State.REFUSED:
            return SnapshotFacts(snapshot.trouble, save_error, copy.table, copy.reason)
    return SnapshotFacts(snapshot.trouble, save_error)


def snapshot_conditions(facts: SnapshotFacts) -> Iterator[Condition]:
    """Pure."""
    if facts.error:
        yield Condition(
            "snapshot_blocked",
            status.State.DEGRADED,
            _COMPONENT,
            f"Existing rows cannot be read: {facts.error}",
            "Start the node and its replicas, or grant SELECT on the tables; the snapshot resumes.",
        )
    if facts.save_error:
        yield Condition(
            "snapshot_offsets_not_saved",
            status.State.DEGRADED,
            _COMPONENT,
            facts.save_error,
            "Make room in offset.backing.store.dir, or let the agent's user write there.",
        )
    if facts.refused_table:
        table, reason = facts.refused_table, facts.refused_reason.rstrip(".")
        yield Condition(
            "snapshot_table_rejected",
            status.State.DEGRADED,
            _COMPONENT,
            f"{table} cannot be copied: {reason}.",
            f"Correct it and run `agent snapshot start --table {table}`, or do without: "
            f"`agent snapshot stop --table {table}`.",
        )


def snapshot_component(current: Status, snapshot: Snapshot) -> Component:
    """How many tables are in which state."""
    copies = snapshot.progress.copies.values()
    counts = {state.value: sum(copy.state is state for copy in copies) for state in State}
    running = [copy.table for copy in copies if copy.state is State.COPYING]
    sentence = f"{running[0]} is copied" if running else "nothing is left to copy"
    return component_of(current, _COMPONENT, sentence, counts)


def set_gauges(snapshot: Snapshot, metrics: AgentMetrics) -> None:
    """Sets the gauges from what there is now."""
    copies = snapshot.progress.copies.values()
    for state in State:
        count = sum(copy.state is state for copy in copies)
        metrics.snapshot_tables.labels(state.value).set(count)
    metrics.snapshot_progress.clear()
    for copy in copies:
        metrics.snapshot_progress.labels(copy.table).set(copy.ratio)
    metrics.snapshot_waiting.set(bool(snapshot.trouble))
    metrics.snapshot_counter_tables.set(snapshot.counters)


def _table(copy: TableSnapshot) -> dict[str, object]:
    started = datetime.fromtimestamp(copy.started_us / 1_000_000, UTC)
    document: dict[str, object] = {
        "table": copy.table,
        "id": copy.table_id,
        "state": copy.state.value,
        "rows": copy.rows,
        "percent": round(100 * copy.ratio, 2),
        "ranges": len(copy.reached),
        "ranges_done": sum(reached >= each.to for each, reached in copy.reached.items()),
        "started_at": started.isoformat(timespec="milliseconds"),
    }
    if copy.reason:
        document["reason"] = copy.reason
    return document
