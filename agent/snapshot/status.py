"""Status of snapshots, for /health and /metrics, and the HTTP routes.

GET  /snapshot         state of the snapshot of each table
POST /snapshot/start   {"table": "keyspace.table"}   copies a table from the beginning
POST /snapshot/stop    {"table": "keyspace.table"}   stops the snapshot of a table

POST returns {"accepted", "message"}. Without `http.token.file` any client of `http.host` and
`http.port` can start snapshots. The body must be `application/json`, which a browser does not send
across origins without a preflight request.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from flask import Blueprint, Response, request

from agent.metrics import AgentMetrics
from agent.snapshot.offsets import State, TableSnapshot
from agent.snapshot.snapshot import Snapshot
from sidecar.errors import AccessDeniedError, ConfigError, UnavailableError
from sidecar.health import condition as health
from sidecar.health.condition import Component, Condition, Status, component_of
from sidecar.http.requests import json_answer, request_answer

_COMPONENT = "snapshot"


def snapshot_document(snapshot: Snapshot) -> dict[str, object]:
    settings, tables = snapshot.settings, snapshot.offsets.tables.values()
    return {
        "mode": settings.snapshot_mode,
        "consistency": settings.snapshot_consistency,
        "ranges": settings.snapshot_ranges,
        "is_running": any(table.state is State.COPYING for table in tables),
        "waiting": snapshot.error,
        "counter_tables": snapshot.counter_tables,
        "tables": [_table(table) for table in tables],
    }


@dataclass(frozen=True, slots=True)
class SnapshotFacts:
    """Errors of the snapshot; empty without an error."""

    error: str = ""
    """Why rows cannot be read."""
    save_error: str = ""
    """Why offsets cannot be stored."""
    rejected_table: str = ""
    rejected_reason: str = ""


def snapshot_facts(snapshot: Snapshot | None, save_error: str = "") -> SnapshotFacts:
    """Returns the current facts; `snapshot` is None without a node."""
    if snapshot is None:
        return SnapshotFacts(save_error=save_error)
    for table in snapshot.offsets.tables.values():
        if table.state is State.REFUSED:
            return SnapshotFacts(snapshot.error, save_error, table.table, table.reason)
    return SnapshotFacts(snapshot.error, save_error)


def snapshot_conditions(facts: SnapshotFacts) -> Iterator[Condition]:
    """Derives conditions from facts, without side effects."""
    if facts.error:
        yield Condition(
            "snapshot_blocked",
            health.State.DEGRADED,
            _COMPONENT,
            f"Existing rows cannot be read: {facts.error}",
            "Set snapshot.mode=never, and restart the agent."
            if "snapshot.mode=never" in facts.error
            else "Start the node and its replicas, or grant SELECT on the tables; the snapshot "
            "resumes.",
            rank=health.Rank.LATE,
        )
    if facts.save_error:
        yield Condition(
            "snapshot_offsets_not_saved",
            health.State.DEGRADED,
            _COMPONENT,
            facts.save_error,
            "Free space in offset.backing.store.dir, or let the agent's user write there.",
        )
    if facts.rejected_table:
        table, reason = facts.rejected_table, facts.rejected_reason.rstrip(".")
        yield Condition(
            "snapshot_table_rejected",
            health.State.DEGRADED,
            _COMPONENT,
            f"{table} cannot be copied: {reason}.",
            f"Correct the cause and run `agent snapshot start {table}`, or skip the table "
            f"with `agent snapshot stop {table}`.",
        )


def snapshot_component(current: Status, snapshot: Snapshot) -> Component:
    """Creates the component of /health, with the number of tables in each state."""
    tables = snapshot.offsets.tables.values()
    counts = {state.value: sum(table.state is state for table in tables) for state in State}
    running = [table.table for table in tables if table.state is State.COPYING]
    sentence = f"copying {running[0]}" if running else "no snapshot is running"
    return component_of(current, _COMPONENT, sentence, counts)


def set_gauges(snapshot: Snapshot, metrics: AgentMetrics) -> None:
    tables = snapshot.offsets.tables.values()
    for state in State:
        count = sum(table.state is state for table in tables)
        metrics.snapshot_tables.labels(state.value).set(count)
    metrics.snapshot_progress.clear()
    for table in tables:
        metrics.snapshot_progress.labels(table.table).set(table.ratio)
    metrics.snapshot_waiting.set(bool(snapshot.error))
    metrics.snapshot_unsupported_tables.set(snapshot.counter_tables)


def _table(snapshot: TableSnapshot) -> dict[str, object]:
    started = datetime.fromtimestamp(snapshot.started_us / 1_000_000, UTC)
    document: dict[str, object] = {
        "table": snapshot.table,
        "id": snapshot.table_id,
        "state": snapshot.state.value,
        "rows": snapshot.rows,
        "percent": round(100 * snapshot.ratio, 2),
        "ranges": len(snapshot.offsets),
        "ranges_done": sum(token >= each.to for each, token in snapshot.offsets.items()),
        "started_at": started.isoformat(timespec="milliseconds"),
    }
    if snapshot.reason:
        document["reason"] = snapshot.reason
    return document


def snapshot_pages(snapshot: Callable[[], Snapshot | None]) -> Blueprint:
    """Creates the routes. `snapshot` returns None while the agent starts and with `schema.file`."""
    pages = Blueprint("snapshot", __name__)

    @pages.get("/snapshot")
    def show() -> Response:
        found = snapshot()
        return json_answer({"tables": []} if found is None else snapshot_document(found))

    @pages.post("/snapshot/start")
    def start() -> Response:
        return _answer(snapshot(), Snapshot.start_table)

    @pages.post("/snapshot/stop")
    def stop() -> Response:
        return _answer(snapshot(), Snapshot.stop_table)

    return pages


def _answer(snapshot: Snapshot | None, act: Callable[[Snapshot, str], str]) -> Response:
    document = request.get_json(silent=True)
    table = document.get("table") if isinstance(document, dict) else None
    if not isinstance(table, str):
        status = 400 if request.is_json else 415
        return request_answer(False, 'The body must be JSON: {"table": "keyspace.table"}.', status)
    if snapshot is None:
        return request_answer(
            False, "The agent is starting, or uses schema.file without a node.", 503
        )
    try:
        return request_answer(True, act(snapshot, table), 200)
    except ConfigError as error:
        return request_answer(False, str(error), 422)
    except (UnavailableError, AccessDeniedError) as error:
        return request_answer(False, str(error), 503)
