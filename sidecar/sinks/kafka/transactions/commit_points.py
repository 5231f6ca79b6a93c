"""At which events of a batch a transaction can end: where a position covers all events before.

Positions only grow, and one changes with the last event of what it covers.
"""

from bisect import bisect_left
from typing import Any

from sidecar.delivery import EventBatch


def next_commit_point(batch: EventBatch[Any], events: int) -> int:
    """The first boundary that is not before so many events."""
    if events <= 0 or events >= len(batch):
        return min(max(events, 0), len(batch))
    before = batch.position_after(events - 1)
    return bisect_left(
        range(len(batch)),
        True,
        lo=events,
        key=lambda index: bool(batch.position_after(index) != before),
    )


def last_commit_point(batch: EventBatch[Any], events: int) -> int:
    """The last boundary that is not behind so many events."""
    if events <= 0 or events >= len(batch):
        return min(max(events, 0), len(batch))
    reached = batch.position_after(events)
    return bisect_left(
        range(events), True, key=lambda index: bool(batch.position_after(index) == reached)
    )
