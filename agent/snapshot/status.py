"""What a snapshot tells of itself: for /snapshot, /health and /metrics."""

from datetime import UTC, datetime

from agent.metrics import AgentMetrics
from agent.snapshot.progress import Copy, State
from agent.snapshot.snapshot import Snapshot
from sidecar.http import Component


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


def snapshot_component(snapshot: Snapshot, save_trouble: str = "") -> Component:
    """Failing while nothing can be read, progress is not stored, or a table was refused."""
    copies = snapshot.progress.copies.values()
    counts = {state.value: sum(copy.state is state for copy in copies) for state in State}
    refused = [copy for copy in copies if copy.state is State.REFUSED]
    sentence = snapshot.trouble or save_trouble
    if not sentence and refused:
        table, reason = refused[0].table, refused[0].reason.rstrip(".")
        sentence = (
            f"{table} cannot be copied: {reason}. Correct it and start its snapshot again, or do "
            f"without: `agent snapshot stop --table {table}`."
        )
    if sentence:
        return Component("snapshot", False, sentence, counts)
    running = [copy.table for copy in copies if copy.state is State.COPYING]
    sentence = f"{running[0]} is copied" if running else "nothing is left to copy"
    return Component("snapshot", True, sentence, counts)


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


def _table(copy: Copy) -> dict[str, object]:
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
