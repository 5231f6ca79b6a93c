"""Conditions of undelivered changes. Pure."""

from collections.abc import Iterator

from agent.quarantine.scanner import QuarantineUsage
from sidecar.dead_letters.dead_letter import TOO_LARGE_REMEDY
from sidecar.health.condition import Condition, State

_COMPONENT = "quarantine"


def quarantine_conditions(usage: QuarantineUsage) -> Iterator[Condition]:
    """Segments that can be read again, missing segments, and dead letters."""
    if usage.available:
        yield Condition(
            "segment_quarantined",
            State.DEGRADED,
            _COMPONENT,
            f"{_segments(usage.available)} undelivered changes ({_ranges(usage.ranges)}): "
            f"{_names(usage.available_names, usage.available)}.",
            "List causes with `agent quarantine list`. Correct them, then run `agent quarantine "
            f"retry {usage.available_names[0]}` or `agent quarantine retry --all`. To discard the "
            "changes, run `agent quarantine discard NAME`.",
        )
    if usage.missing:
        yield Condition(
            "segment_lost",
            State.DEGRADED,
            _COMPONENT,
            f"{_segments(usage.missing)} undelivered changes and no file to read again: "
            f"{_names(usage.missing_names, usage.missing)}.",
            "Copy the tables again with `agent snapshot start KEYSPACE.TABLE`, then run "
            f"`agent quarantine discard {usage.missing_names[0]}`.",
        )
    if usage.dead_letters:
        events = "1 event was" if usage.dead_letters == 1 else f"{usage.dead_letters} events were"
        yield Condition(
            "event_rejected",
            State.DEGRADED,
            _COMPONENT,
            f"{events} rejected by the sink and stored as dead letters: "
            f"{_names(usage.dead_letter_names, len(usage.dead_letter_names))}.",
            "See the causes with `agent quarantine list`. If an event is too large, "
            f"{TOO_LARGE_REMEDY}. The `.events.ndjson` in the quarantine has its whole value. Send "
            "the events by other means, then run "
            f"`agent quarantine discard {usage.dead_letter_names[0]}`.",
        )


def _segments(count: int) -> str:
    return "1 segment has" if count == 1 else f"{count} segments have"


def _ranges(count: int) -> str:
    return "1 range" if count == 1 else f"{count} ranges"


def _names(names: tuple[str, ...], count: int) -> str:
    return ", ".join(names) + (", …" if count > len(names) else "")
