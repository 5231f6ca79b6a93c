"""The values of the status page, which `page.html` displays, from an agent's view and counters."""

import itertools
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, Literal, Protocol, TypeVar

from prometheus_client import Counter

from sidecar.health.condition import EXPECTED, Health
from sidecar.health.condition import State as Status
from sidecar.quantities import duration_text
from sidecar.status.publisher import StatusView, ViewOf

State = Literal["ok", "late", "degraded", "failing", "starting"]
LATE_S = 60.0
"""Lag in seconds from which the page shows an agent as late."""
MOST_BARS = 64
"""Maximum number of lines of each kind in the timeline."""

Unit = Literal["bytes", "seconds", "events", "per_second", "count"]


@dataclass(frozen=True, slots=True)
class Stat:
    """One number; a `value` of None is unknown. With a `limit`, the page shows the share used."""

    name: str
    value: float | None
    unit: Unit
    limit: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class ProgressBar:
    """One line of the timeline: a segment or a stream.

    Of `size`, in any unit, `done` is acknowledged, `read` is read and `there` is readable. Without
    a `size`, the page shows no bar.
    """

    name: str
    state: str
    size: float
    done: float
    read: float
    there: float
    note: str = ""
    unit: Unit | None = None
    """Unit of `size`, `done`, `read` and `there`; None for shares."""


@dataclass(frozen=True, slots=True)
class SnapshotLine:
    """The snapshot of one table or collection."""

    name: str
    state: str
    rows: int
    share: float | None = None
    """Acknowledged part, from 0 to 1; None if unknown."""
    total: int | None = None
    """An estimate; None if unknown."""
    noun: Literal["rows", "documents"] = "rows"
    note: str = ""


@dataclass(frozen=True, slots=True)
class Counts:
    """Events of one table or collection since the start, by kind."""

    name: str
    by_kind: Mapping[str, int]
    topic: str = ""
    """Topic unless a transformation changes it; empty if unknown."""


@dataclass(frozen=True, slots=True)
class NextCommand:
    """A command line for the operator, ready to be copied."""

    purpose: str
    """Its effect, such as `Read the segment again`."""
    command: str


@dataclass(frozen=True, slots=True)
class QuarantinedItem:
    """One quarantined segment, snapshot or file."""

    name: str
    causes: Sequence[str] = ()
    """Distinct; the first few."""
    content: str = ""
    """Undelivered changes, in words."""
    noted_at: str | None = None
    """Time of the first loss, ISO 8601."""
    commands: Sequence[NextCommand] = ()


@dataclass(frozen=True, slots=True)
class Quarantined:
    message: str
    size_bytes: int
    limit_bytes: int = field(default=0, kw_only=True)
    by_reason: Mapping[str, int] = field(default_factory=dict, kw_only=True)
    """Since the start."""
    items: Sequence[QuarantinedItem] = ()
    """The oldest few."""
    hidden: int = 0
    """Number of further items."""
    commands: Sequence[NextCommand] = ()
    """Commands for all items."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The values that the page shows besides health and the latest log lines."""

    state: State
    stats: Sequence[Stat] = ()
    progress_title: str = ""
    progress: Sequence[ProgressBar] = ()
    snapshots: Sequence[SnapshotLine] = ()
    counts_title: str = ""
    counts: Sequence[Counts] = ()
    dead_letters: Quarantined | None = None
    notes: Sequence[str] = ()


def state_of(health: Health, *, is_late: bool) -> State:
    """Return the state on the page: the status, or `late` for a slow agent that is ok."""
    if health.state is Status.OK:
        return "late" if is_late else "ok"
    if health.status.conditions[0].code in EXPECTED:
        return "starting"
    return "failing" if health.state is Status.FAILING else "degraded"


def counts_of(counters: Sequence[Counter], name_label: str, kind_label: str) -> tuple[Counts, ...]:
    """Return the sums by name, largest first. A counter without kinds counts snapshot reads."""
    found: dict[str, dict[str, int]] = {}
    for labels, value in itertools.chain(*map(samples_of, counters)):
        kinds = found.setdefault(labels[name_label], {})
        kind = labels.get(kind_label, "snapshot reads")
        kinds[kind] = kinds.get(kind, 0) + value
    counts = (Counts(name, kinds) for name, kinds in found.items())
    return tuple(sorted(counts, key=lambda each: (-sum(each.by_kind.values()), each.name)))


def samples_of(counter: Counter) -> Iterator[tuple[Mapping[str, str], int]]:
    for family in counter.collect():
        for sample in family.samples:
            if sample.name.endswith("_total"):
                yield sample.labels, int(sample.value)


ViewOf_contra = TypeVar("ViewOf_contra", bound=StatusView, contravariant=True)


class SummaryParts(Protocol[ViewOf_contra]):
    """The parts that differ between agents."""

    progress_title: str
    counts_title: str
    count_labels: tuple[str, str]
    """Labels of the event counter: the table or collection, and the kind."""
    unnamed: str
    """Name for events without a table or collection, such as the begin of a transaction."""

    def topic_of(self, name: str, /) -> str:
        """Returns the topic of a table or collection."""

    @property
    def kind_names(self) -> Mapping[str, str]:
        """Display names of kinds; any other kind keeps its name."""

    def stats(self, view: ViewOf_contra) -> Iterator[Stat]:
        """Yields numbers besides lag and unacknowledged events."""

    def progress(self, view: ViewOf_contra) -> Iterator[ProgressBar]: ...
    def snapshots(self, view: ViewOf_contra) -> Iterator[SnapshotLine]: ...
    def quarantine(self, view: ViewOf_contra) -> Quarantined:
        """Describes the content of the quarantine, without limit and reasons."""

    def notes(self, view: ViewOf_contra) -> Iterator[str]: ...


def config_option(file: Path) -> str:
    """` --config FILE` with an absolute path, quoted for a shell."""
    return f" --config {shlex.quote(str(file.absolute()))}"


class AgentSummary(Generic[ViewOf]):
    """Builds the summary on the server's threads, without waiting."""

    def __init__(
        self,
        view: Callable[[], ViewOf | None],
        parts: SummaryParts[ViewOf],
        *,
        events: Sequence[Counter],
        quarantined: Counter,
        quarantine_max_bytes: int,
    ) -> None:
        """`view` returns None before the first view exists; `quarantined` counts by reason."""
        self._view = view
        self._parts = parts
        self._events = events
        self._quarantined = quarantined
        self._quarantine_max_bytes = quarantine_max_bytes

    def __call__(self, health: Health) -> Summary:
        """`health` is shown above the summary."""
        view, parts = self._view(), self._parts
        state = state_of(health, is_late=view is not None and view.lag_s > LATE_S)
        if view is None:
            return Summary(state)
        held = parts.quarantine(view)
        reasons = {labels["reason"]: n for labels, n in samples_of(self._quarantined) if n}
        return Summary(
            state,
            stats=(*_delivery_stats(view), *parts.stats(view)),
            progress_title=parts.progress_title,
            progress=tuple(parts.progress(view)),
            snapshots=tuple(parts.snapshots(view)),
            counts_title=parts.counts_title,
            counts=self._counts(),
            dead_letters=replace(held, limit_bytes=self._quarantine_max_bytes, by_reason=reasons),
            notes=tuple(parts.notes(view)),
        )

    def _counts(self) -> Sequence[Counts]:
        parts = self._parts
        words = parts.kind_names
        return tuple(
            Counts(
                each.name or parts.unnamed,
                {words.get(kind, kind): count for kind, count in each.by_kind.items()},
                parts.topic_of(each.name) if each.name else "",
            )
            for each in counts_of(self._events, *parts.count_labels)
        )


def _delivery_stats(view: StatusView) -> Iterator[Stat]:
    delivery = view.delivery
    age = f"the oldest for {duration_text(delivery.unacknowledged_age_s)}"
    yield Stat("Lag", view.lag_s, "seconds", note="" if view.lag_s else "no event waits")
    yield Stat(
        "Unacknowledged events",
        delivery.unacknowledged_events,
        "events",
        delivery.window_limit_events or None,
        age if delivery.unacknowledged_events else "",
    )
