"""Conditions of what was not delivered. Pure."""

from collections.abc import Iterator

from agent.quarantine import Usage
from sidecar.status import Condition, State

_COMPONENT = "quarantine"


def quarantine_conditions(usage: Usage) -> Iterator[Condition]:
    """Segments that can be read again, segments that are gone, and events that were rejected."""
    if usage.kept:
        yield Condition(
            "segment_quarantined",
            State.DEGRADED,
            _COMPONENT,
            f"{_segments(usage.kept)} changes that were not delivered ({_ranges(usage.ranges)}): "
            f"{_names(usage.kept_names, usage.kept)}.",
            "`agent segments list` shows the causes. When a cause is gone: `agent segments retry "
            f"{usage.kept_names[0]}`, or `agent segments retry --all`. To give them up: `agent "
            "segments discard NAME`.",
        )
    if usage.gone:
        yield Condition(
            "segment_lost",
            State.DEGRADED,
            _COMPONENT,
            f"{_segments(usage.gone)} changes that were not delivered, and the segment itself is "
            f"gone: {_names(usage.gone_names, usage.gone)}.",
            "Copy the tables anew with `agent snapshot start --table KEYSPACE.TABLE`, then `agent "
            f"segments discard {usage.gone_names[0]}`.",
        )
    if usage.refused_events:
        events = (
            "1 event was" if usage.refused_events == 1 else f"{usage.refused_events} events were"
        )
        yield Condition(
            "event_rejected",
            State.DEGRADED,
            _COMPONENT,
            f"{events} rejected by the sink and kept: "
            f"{_names(usage.event_names, len(usage.event_names))}.",
            "`agent segments list` shows the causes. Send the events by other means, then `agent "
            f"segments discard {usage.event_names[0]}`.",
        )


def _segments(count: int) -> str:
    return "1 segment has" if count == 1 else f"{count} segments have"


def _ranges(count: int) -> str:
    return "1 range" if count == 1 else f"{count} ranges"


def _names(names: tuple[str, ...], count: int) -> str:
    return ", ".join(names) + (", …" if count > len(names) else "")
