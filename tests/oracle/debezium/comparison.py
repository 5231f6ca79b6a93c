"""Equality of two events, and the comparison of a case."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tests.oracle.debezium.recording import Position, Sent

_CONNECTOR = ("version",)
_TIMES = ("ts_ms", "ts_us", "ts_ns")

Mend = Callable[[Any], Any]
"""Converts an event's value into one without a known flaw."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Events of one case that only one side has, in order."""

    theirs: tuple[Sent, ...]
    ours: tuple[Sent, ...]
    is_reordered: bool
    """Both have the same events in another order."""

    def __bool__(self) -> bool:
        return bool(self.theirs or self.ours or self.is_reordered)


def difference(
    theirs: Iterable[Sent], ours: Iterable[Sent], mend: Mend | None = None
) -> Difference:
    """The events that differ, after `mend` on both sides.

    Events are equal as JSON values, except for `ts_ms` (the sender's clock), `source.version`, and
    the write times in `source` where a mutation gives several events: the peer writes the largest
    time of the partition update, cdc-sidecar that of the event. Repeats count once, because the
    peer repeats events under live load. The order is that within a topic.
    """
    theirs, ours = tuple(theirs), tuple(ours)
    several = _several(theirs) | _several(ours)
    left = {_comparable(event, several, mend): event for event in theirs}
    right = {_comparable(event, several, mend): event for event in ours}
    only_theirs = tuple(event for form, event in left.items() if form not in right)
    only_ours = tuple(event for form, event in right.items() if form not in left)
    is_reordered = not only_theirs and not only_ours and _by_topic(left) != _by_topic(right)
    return Difference(only_theirs, only_ours, is_reordered)


def _several(events: Iterable[Sent]) -> set[Position]:
    """Mutations with several events."""
    distinct = {(event.position, _comparable(event, None, None)) for event in events}
    counts = Counter(position for position, _ in distinct)
    return {position for position, count in counts.items() if count > 1}


def _comparable(event: Sent, several: set[Position] | None, mend: Mend | None) -> Any:
    value = dict(event.value)
    del value["ts_ms"]
    has_own_time = several is not None and event.position not in several
    masked = _CONNECTOR if has_own_time else _CONNECTOR + _TIMES
    value["source"] = {
        name: member for name, member in value["source"].items() if name not in masked
    }
    return (event.topic, _frozen(event.key), _frozen(mend(value) if mend else value))


def _frozen(value: Any) -> Any:
    """Hashable form. Booleans are not numbers here, as in JSON and unlike in Python."""
    if isinstance(value, dict):
        return frozenset((name, _frozen(member)) for name, member in value.items())
    if isinstance(value, list):
        return ("array", *(_frozen(member) for member in value))
    return ("boolean", value) if isinstance(value, bool) else value


def _by_topic(forms: Iterable[Any]) -> dict[str, list[Any]]:
    topics: dict[str, list[Any]] = defaultdict(list)
    for form in forms:
        topics[form[0]].append(form)
    return topics
