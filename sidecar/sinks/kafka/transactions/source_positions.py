"""Positions of all sources: those in the position topic, and those that delivery has reached."""

from dataclasses import dataclass
from typing import Any

from sidecar.events import DeliveryBatch
from sidecar.offsets.position_store import PositionRecords, Positions


@dataclass(frozen=True, slots=True)
class _Reached:
    """The position after so many events of a batch."""

    batch: DeliveryBatch[Any]
    events: int


class SourcePositions:
    """Used by the sink's thread."""

    def __init__(self, records: PositionRecords) -> None:
        self._records = records
        self.stored: Positions = {}
        self._reached: dict[Any, _Reached] = {}
        self._in_commit: dict[Any, _Reached] = {}
        self._after_commit: Positions = {}

    @property
    def has_moved(self) -> bool:
        return bool(self._reached)

    def reach(self, source: Any, batch: DeliveryBatch[Any], events: int) -> None:
        """Every event of the source up to `events` of the batch is in a transaction."""
        self._reached[source] = _Reached(batch, events)

    def current(self) -> Positions:
        """The positions of all sources, including those that are not stored."""
        reached = {
            str(source): self._records.values(source, at.batch.position_after(at.events))
            for source, at in self._reached.items()
        }
        return {**self.stored, **reached}

    def begin_commit(self, positions: Positions) -> None:
        """The record with these positions is in the transaction."""
        self._in_commit, self._after_commit = dict(self._reached), positions

    def committed(self) -> None:
        """The positions of `begin_commit` are stored."""
        self.stored = self._after_commit
        for source, at in self._in_commit.items():
            if self._reached.get(source) is at:
                del self._reached[source]

    def discard_reached(self) -> None:
        self._reached.clear()
