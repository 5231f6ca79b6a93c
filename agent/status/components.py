"""The agent's own components of `/health`, with details."""

import math
from collections.abc import Iterator

from agent.cdc_raw.quota import time_to_full_s
from agent.pipeline.view import View
from agent.segments.state import Phase
from agent.snapshot.snapshot import Snapshot
from agent.snapshot.status import snapshot_component
from agent.status.conditions import Facts
from agent.transfer.transfer import Backlog
from sidecar.health.condition import Status
from sidecar.health.health import Component, component_of
from sidecar.quantities import size_text


def own_components(status: Status, facts: Facts, snapshot: Snapshot | None) -> Iterator[Component]:
    yield _schema(status, facts)
    if (view := facts.view) is not None:
        yield _raw(status, facts, view)
        if view.backlog is not None:
            yield _transfer(status, view.backlog)
    if snapshot is not None:
        yield snapshot_component(status, snapshot)


def _schema(status: Status, facts: Facts) -> Component:
    tables, unlogged = facts.schema.tables, facts.unlogged
    details: dict[str, object] = {
        "tables": tables,
        "unlogged_tables": [f"{each.name}: {each.option}" for each in unlogged.tables],
    }
    if unlogged.unknown:
        details["unlogged_tables_unknown"] = unlogged.unknown
    return component_of(status, "schema", f"{tables} tables are known", details)


def _raw(status: Status, facts: Facts, view: View) -> Component:
    details: dict[str, object] = {
        "bytes": view.raw_bytes,
        "limit_bytes": facts.quota.limit_bytes,
        "time_to_full_s": _time_to_full_s(facts, view),
        "lag_bytes": view.lag_bytes,
        "lag_s": round(view.lag_s, 3),
        "segments": {phase.value: view.count_by_phase.get(phase, 0) for phase in Phase},
    }
    if view.other_files:
        details["no_segments"] = view.other_files[:5]
    if view.watch_error:
        details["watch"] = view.watch_error
    return component_of(status, "cdc_raw", f"{facts.cdc_raw_directory} is followed", details)


def _time_to_full_s(facts: Facts, view: View) -> float | None:
    """None without growth, or while it is not known."""
    limit_bytes, growth = facts.quota.limit_bytes, view.raw_growth_bytes_per_s
    seconds = time_to_full_s(view.raw_bytes, limit_bytes, growth)
    return round(seconds, 1) if math.isfinite(seconds) else None


def _transfer(status: Status, backlog: Backlog) -> Component:
    message = f"finished segments are in {backlog.destination}"
    if backlog.segments:
        message = (
            f"{backlog.segments} finished segments ({size_text(backlog.size_bytes)} of "
            f"{size_text(backlog.max_bytes)}) wait for {backlog.destination}"
        )
    details = {
        "segments": backlog.segments,
        "bytes": backlog.size_bytes,
        "max_bytes": backlog.max_bytes,
    }
    return component_of(status, "transfer", message, details)
