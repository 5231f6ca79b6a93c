"""Builds the values of the status page from an agent's view and its counters."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from prometheus_client import Counter

from sidecar.health.health import Health
from sidecar.page.summary import (
    LATE_S,
    Counts,
    ProgressBar,
    Quarantined,
    SnapshotLine,
    Stat,
    Summary,
    counts_of,
    samples_of,
    state_of,
)
from sidecar.quantities import duration_text
from sidecar.status.publisher import StatusView, ViewOf

MOST_BARS = 64
"""Maximum number of lines of each kind in the timeline."""

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
