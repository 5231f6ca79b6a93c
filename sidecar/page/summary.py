"""The values of the status page. `page.html` decides how they look."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from prometheus_client import Counter

from sidecar.health.condition import EXPECTED
from sidecar.health.condition import State as Status
from sidecar.health.health import Health

State = Literal["ok", "late", "degraded", "failing", "starting"]
LATE_S = 60.0
"""Lag in seconds from which the page shows an agent as late."""

_MINUTE_S, _HOUR_S, _DAY_S = 60.0, 3600.0, 86400.0

Unit = Literal["bytes", "seconds", "events", "per_second", "count"]


@dataclass(frozen=True, slots=True)
class Stat:
    """One number; `value` None: not known. With a `limit` the page shows its share."""

    name: str
    value: float | None
    unit: Unit
    limit: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class ProgressBar:
    """One line of the timeline: a segment, a stream, a snapshot.

    Of `size`, in any unit, `done` is acknowledged, `read` is read and `there` is readable.
    """

    name: str
    state: str
    size: float
    done: float
    read: float
    there: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Counts:
    """Events of one table or collection since the start, by kind."""

    name: str
    by_kind: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """What the quarantine holds."""

    message: str
    size_bytes: int
    limit_bytes: int
    by_reason: Mapping[str, int]
    """Since the start."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What the page shows beside health and the last lines of the log."""

    state: State
    stats: Sequence[Stat] = ()
    progress_title: str = ""
    progress: Sequence[ProgressBar] = ()
    counts_title: str = ""
    counts: Sequence[Counts] = ()
    dead_letters: DeadLetters | None = None
    notes: Sequence[str] = field(default=())


def state_of(health: Health, *, is_late: bool) -> State:
    """The state on the page: the status, or `late` for a slow agent that is ok."""
    if health.state is Status.OK:
        return "late" if is_late else "ok"
    if health.status.conditions[0].code in EXPECTED:
        return "starting"
    return "failing" if health.state is Status.FAILING else "degraded"


def duration_text(seconds: float) -> str:
    """`3.2 s`, `4 min`, `2.5 h`, `3 days`."""
    if seconds < _MINUTE_S:
        return f"{seconds:.1f} s"
    if seconds < _HOUR_S:
        return f"{seconds / _MINUTE_S:.0f} min"
    if seconds < 2 * _DAY_S:
        return f"{seconds / _HOUR_S:.1f} h"
    return f"{seconds / _DAY_S:.0f} days"


def counts_of(counter: Counter, name_label: str, kind_label: str) -> tuple[Counts, ...]:
    """The values of a counter with two labels, the largest first."""
    found: dict[str, dict[str, int]] = {}
    for labels, value in samples_of(counter):
        kinds = found.setdefault(labels[name_label], {})
        kinds[labels[kind_label]] = kinds.get(labels[kind_label], 0) + value
    counts = (Counts(name, kinds) for name, kinds in found.items())
    return tuple(sorted(counts, key=lambda each: (-sum(each.by_kind.values()), each.name)))


def samples_of(counter: Counter) -> Iterator[tuple[Mapping[str, str], int]]:
    """Labels and values of a counter."""
    for family in counter.collect():
        for sample in family.samples:
            if sample.name.endswith("_total"):
                yield sample.labels, int(sample.value)
