"""The agent as the page shows it: made of the pipeline's view and the counters."""

import math
from collections.abc import Iterator

from agent.metrics import AgentMetrics
from agent.pipeline import View
from agent.quarantine import QuarantineUsage
from agent.segments import Segment
from agent.snapshot.offsets import State, TableSnapshot
from agent.status import AgentStatus
from sidecar.page import Bar, Figure, Kept, Summary, state_of
from sidecar.page.summary import LATE_S, counts_of, duration_text, samples_of
from sidecar.status import Health

_MOST_BARS = 64


class AgentSummary:
    """Called on the server's threads; never waits."""

    def __init__(self, status: AgentStatus, metrics: AgentMetrics, quarantine_max_bytes: int):
        self._status = status
        self._metrics = metrics
        self._quarantine_max_bytes = quarantine_max_bytes

    def __call__(self, health: Health) -> Summary:
        """`health` is what the page shows above this."""
        view = self._status.view
        state = state_of(health, is_late=view is not None and view.lag_s > LATE_S)
        if view is None:
            return Summary(state)
        snapshot = self._status.snapshot
        known = () if snapshot is None else snapshot.progress.copies.values()
        copies = [copy for copy in known if copy.state is State.COPYING][:_MOST_BARS]
        return Summary(
            state,
            figures=tuple(self._figures(view)),
            bars_title="Segments in cdc_raw, the oldest first"
            + (", and tables that are copied" if copies else ""),
            bars=(*map(_bar, view.segments[-_MOST_BARS:]), *map(_copy_bar, copies)),
            counts_title="Events by table, since the start",
            counts=counts_of(self._metrics.events, "table", "op"),
            kept=Kept(
                _kept(view.quarantine),
                view.quarantine.size_bytes,
                self._quarantine_max_bytes,
                {labels["reason"]: n for labels, n in samples_of(self._metrics.quarantined) if n},
            ),
            notes=tuple(_notes(view)),
        )

    def _figures(self, view: View) -> Iterator[Figure]:
        yield Figure("Lag", view.lag_s, "seconds")
        yield Figure("Not delivered", view.lag_bytes, "bytes")
        age = f"the oldest for {duration_text(view.delivery.unacknowledged_age_s)}"
        yield Figure(
            "Copies unacknowledged",
            view.delivery.unacknowledged_events,
            "events",
            note=age if view.delivery.unacknowledged_events else "",
        )
        limit = self._status.raw_limit_bytes
        yield Figure("cdc_raw", view.raw_bytes, "bytes", limit, _full_note(self._full_in_s()))

    def _full_in_s(self) -> float:
        return self._status.raw_full_in_s


def _kept(usage: QuarantineUsage) -> str:
    """How much the quarantine holds, without an opinion."""
    if not usage.segments:
        return "the quarantine is empty"
    return (
        f"segments: {usage.segments}, ranges: {usage.ranges}, rejected events: {usage.dead_letters}"
    )


def _full_note(time_to_full_s: float) -> str:
    if math.isnan(time_to_full_s):
        return ""
    if math.isinf(time_to_full_s):
        return "does not grow"
    return (
        "full" if not time_to_full_s else f"full in {duration_text(time_to_full_s)} at this growth"
    )


def _bar(segment: Segment) -> Bar:
    there = segment.acknowledged_position + segment.readable_bytes
    size = max(segment.log.size_bytes if segment.log else 0, there, segment.read_position)
    done = size if segment.is_drained else segment.acknowledged_position
    return Bar(
        segment.name.log,
        segment.phase.value,
        size=size,
        done=done,
        read=max(done, segment.read_position),
        there=max(done, segment.read_position, there),
        note="complete" if segment.idx.completed else "",
    )


def _copy_bar(copy: TableSnapshot) -> Bar:
    note = f"{copy.rows} rows"
    return Bar(copy.table, copy.state.value, 1.0, copy.ratio, copy.ratio, 1.0, note)


def _notes(view: View) -> Iterator[str]:
    if len(view.segments) > _MOST_BARS:
        yield f"{len(view.segments) - _MOST_BARS} older segments are not shown."
    if view.refused_files:
        yield f"In cdc_raw lie files that are no segments: {', '.join(view.refused_files[:5])}."
