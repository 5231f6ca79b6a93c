"""The agent as the page shows it: made of the pipeline's view and the counters."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from mongo_agent.dead_letters.quarantine import Usage
from mongo_agent.metrics import MongoMetrics
from mongo_agent.pipeline import StreamView, View
from mongo_agent.snapshot.view import CollectionView
from mongo_agent.status import MongoStatus
from sidecar.page import Bar, Figure, Kept, Summary, state_of
from sidecar.page.summary import LATE_S, counts_of, duration_text, samples_of
from sidecar.status import Health

_MOST_BARS = 64
_NO_COLLECTION = "(of no collection)"
"""Begin and end of transactions, for one."""


class MongoSummary:
    """Called on the server's threads; never waits."""

    def __init__(
        self,
        status: MongoStatus,
        metrics: MongoMetrics,
        quarantine_max_bytes: int,
        *,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """`wall_clock` gives seconds since 1970."""
        self._status = status
        self._metrics = metrics
        self._quarantine_max_bytes = quarantine_max_bytes
        self._wall_clock = wall_clock

    def __call__(self, health: Health) -> Summary:
        """`health` is what the page shows above this."""
        view = self._status.view
        state = state_of(health, is_late=view is not None and view.lag_s > LATE_S)
        if view is None:
            return Summary(state)
        return Summary(
            state,
            figures=tuple(_figures(view)),
            bars_title="Streams and copies",
            bars=tuple(self._bars(view)),
            counts_title="Messages by collection, since the start",
            counts=tuple(
                replace(each, name=each.name or _NO_COLLECTION)
                for each in counts_of(self._metrics.events, "collection", "kind")
            ),
            kept=Kept(
                _kept(view.quarantine),
                view.quarantine.size_bytes,
                self._quarantine_max_bytes,
                {labels["reason"]: n for labels, n in samples_of(self._metrics.quarantined) if n},
            ),
            notes=tuple(_notes(view)),
        )

    def _bars(self, view: View) -> Iterator[Bar]:
        now_s = self._wall_clock()
        for stream in view.streams:
            yield _stream_bar(stream, now_s)
            collections = stream.copies.collections
            yield from map(_copy_bar, collections[-_MOST_BARS:])


def _figures(view: View) -> Iterator[Figure]:
    yield Figure("Lag", view.lag_s, "seconds")
    age = f"the oldest for {duration_text(view.delivery.unacknowledged_age_s)}"
    yield Figure(
        "Copies unacknowledged",
        view.delivery.unacknowledged_events,
        "events",
        view.delivery.window_limit_events or None,
        age if view.delivery.unacknowledged_events else "",
    )
    yield Figure(
        "Window", view.delivery.window_bytes, "bytes", view.delivery.window_limit_bytes or None
    )
    remaining = sum(stream.copies.remaining_collections for stream in view.streams)
    yield Figure("Collections to copy", remaining, "count")


def _kept(usage: Usage) -> str:
    """How much the quarantine holds, without an opinion."""
    if not usage.refused_events and not usage.gaps:
        return "the quarantine is empty"
    return f"rejected events: {usage.refused_events}, ranges of time: {usage.gaps}"


def _stream_bar(stream: StreamView, now_s: float) -> Bar:
    age_s = max(0.0, now_s - stream.read_time.second)
    name = f"stream {stream.name}" if stream.name else "stream"
    state = "reading" if stream.state.is_open else "waiting"
    read = 1.0 if stream.state.is_open else 0.0
    note = f"read up to {duration_text(age_s)} ago; {stream.state.sentence}"
    return Bar(name, state, size=1.0, done=read, read=read, there=1.0, note=note)


def _copy_bar(copied: CollectionView) -> Bar:
    is_open = copied.state in ("waiting", "copying")
    size = float(copied.estimated or 0) if is_open else float(copied.documents)
    done = min(float(copied.documents), size) if size else 0.0
    note = f"{copied.documents} documents, {copied.reason}"
    return Bar(copied.collection, copied.state, max(size, 1.0), done, done, max(size, 1.0), note)


def _notes(view: View) -> Iterator[str]:
    for stream in view.streams:
        if stream.copies.is_paused:
            yield "Copies are paused."
        if len(stream.copies.collections) > _MOST_BARS:
            yield f"{len(stream.copies.collections) - _MOST_BARS} older copies are not shown."
