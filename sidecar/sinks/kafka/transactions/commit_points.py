"""Events of a batch after which a transaction can end: where a position covers all events before.

Positions only grow, and change after the last event that they cover.
"""

from bisect import bisect_left
from typing import Any

from sidecar.events import DeliveryBatch


def next_commit_point(batch: DeliveryBatch[Any], events: int) -> int:
    """The first commit point at or after so many events."""
    if events <= 0 or events >= len(batch):
        return min(max(events, 0), len(batch))
    before = batch.position_after(events - 1)
    return bisect_left(
        range(len(batch)),
        True,
        lo=events,
        key=lambda index: bool(batch.position_after(index) != before),
    )


def last_commit_point(batch: DeliveryBatch[Any], events: int) -> int:
    """The last commit point at or before so many events."""
    if events <= 0 or events >= len(batch):
        return min(max(events, 0), len(batch))
    reached = batch.position_after(events)
    return bisect_left(
        range(events), True, key=lambda index: bool(batch.position_after(index) == reached)
    )
