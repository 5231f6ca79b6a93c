"""Builds the report of one agent from its `/health`. Pure; nothing in the answer is trusted."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from sidecar.fleet.request import printable
from sidecar.fleet.target import Target
from sidecar.instance import Instance

State = Literal["unreachable", "failing", "degraded", "ok"]
STATES: tuple[State, ...] = ("unreachable", "failing", "degraded", "ok")
"""From worst to best."""
Snapshot = Literal["running", "paused", "rejected", "completed", "none"]

_MAX_TEXT = 300
_MAX_CONDITIONS = 20


@dataclass(frozen=True, slots=True)
class AgentReport:
    """The state of an agent; null means unknown or not applicable."""

    target: str
    url: str
    state: State
    message: str
    """The agent's own message, or why it does not answer."""
    conditions: tuple[str, ...] = ()
    """Codes, worst first."""
    service: str | None = None
    version: str | None = None
    cluster: str | None = None
    datacenter: str | None = None
    rack: str | None = None
    host: str | None = None
    node_id: str | None = None
    topic_prefix: str | None = None
    configuration_fingerprint: str | None = None
    destination: str | None = None
    uptime_s: float | None = None
    lag_s: float | None = None
    unacknowledged_events: float | None = None
    quarantined: float | None = None
    """Cassandra: quarantined segments; MongoDB: dead letters and gaps."""
    cdc_raw_bytes: float | None = None
    cdc_raw_limit_bytes: float | None = None
    cdc_raw_time_to_full_s: float | None = None
    """At the current growth rate; null also if the directory does not grow."""
    snapshot: Snapshot | None = None

    @property
    def place(self) -> str:
        """`cluster/datacenter/rack/host`, or the target if the agent does not identify itself."""
        parts = (self.cluster, self.datacenter, self.rack, self.host)
        return "/".join(part for part in parts if part) or self.target


def unreachable(target: Target, reason: str) -> AgentReport:
    return AgentReport(target.name, target.url, "unreachable", _clean(reason))


def report_of(target: Target, health: Mapping[str, Any], *, is_ok: bool = False) -> AgentReport:
    """`health` is the answer of `/health`; `is_ok` is true if its HTTP status was 200."""
    instance = part_of(health, "instance")
    components = part_of(health, "components")
    sink, quarantine = part_of(components, "sink"), part_of(components, "quarantine")
    raw = part_of(components, "cdc_raw")
    return AgentReport(
        target.name,
        target.url,
        _state(health, is_ok),
        _text(health.get("message")) or "",
        _codes(health),
        **{each.name: _text(instance.get(each.name)) for each in fields(Instance)},
        configuration_fingerprint=_text(health.get("configuration_fingerprint")),
        destination=_text(health.get("destination")),
        uptime_s=_number(health.get("uptime_s")),
        lag_s=_number(sink.get("lag_s", raw.get("lag_s"))),
        unacknowledged_events=_number(sink.get("unacknowledged_events")),
        quarantined=_quarantined(quarantine),
        cdc_raw_bytes=_number(raw.get("bytes")),
        cdc_raw_limit_bytes=_number(raw.get("limit_bytes")),
        cdc_raw_time_to_full_s=_number(raw.get("time_to_full_s")),
        snapshot=_snapshot(components),
    )


def _state(health: Mapping[str, Any], is_ok: bool) -> State:
    default: State = "ok" if is_ok else "failing"
    return next((state for state in STATES[1:] if state == health.get("status")), default)


def _codes(health: Mapping[str, Any]) -> tuple[str, ...]:
    found = health.get("conditions")
    if not isinstance(found, list):
        return ()
    codes = (_text(each.get("code")) for each in found if isinstance(each, dict))
    return tuple(dict.fromkeys(code for code in codes if code))[:_MAX_CONDITIONS]


def _quarantined(quarantine: Mapping[str, Any]) -> float | None:
    if "segments" in quarantine:
        return _number(quarantine["segments"])
    counts = [_number(quarantine.get(name)) for name in ("dead_letters", "gaps")]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _snapshot(components: Mapping[str, Any]) -> Snapshot | None:
    """Return the most notable snapshot state of all streams."""
    found: set[Snapshot] = set()
    for name in components:
        if name.startswith("snapshot"):
            found |= _snapshot_states(part_of(components, name))
    order: tuple[Snapshot, ...] = ("rejected", "running", "paused", "completed", "none")
    return next((state for state in order if state in found), None)


def _snapshot_states(part: Mapping[str, Any]) -> set[Snapshot]:
    if "is_running" in part:
        if part.get("is_paused"):
            return {"paused"}
        return {"running"} if part["is_running"] else {"none"}
    names: dict[str, Snapshot] = {
        "copying": "running",
        "refused": "rejected",
        "completed": "completed",
    }
    found = {state for name, state in names.items() if (_number(part.get(name)) or 0) > 0}
    return found or {"none"}


def part_of(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if math.isfinite(value) else None


def _text(value: object) -> str | None:
    return _clean(value) if isinstance(value, str) and value else None


def _clean(text: str) -> str:
    line = printable(text[: 2 * _MAX_TEXT])
    return line if len(line) <= _MAX_TEXT else f"{line[:_MAX_TEXT]}…"
