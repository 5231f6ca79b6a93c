"""Offsets of segments on their way to the offset file."""

from collections.abc import Callable, Container, Iterable

from agent.cdc_raw.names import SegmentName
from agent.segments.offsets import SegmentOffsets
from sidecar.metrics import DeliveryMetrics
from sidecar.offsets.flusher import OffsetFlusher, OffsetStore


class OffsetCommitter(OffsetFlusher[SegmentOffsets]):
    """The offsets that are reached and stored.

    They are saved at once before a segment is removed: a segment stays in `cdc_raw` until it is
    stored as COMPLETED.
    """

    def __init__(
        self,
        store: OffsetStore,
        ledger: SegmentOffsets,
        flush_interval_s: float,
        *,
        metrics: DeliveryMetrics,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(
            store, ledger, SegmentOffsets.to_stored, flush_interval_s, metrics=metrics, clock=clock
        )

    @property
    def ledger(self) -> SegmentOffsets:
        return self.reached

    def advance(self, name: SegmentName, position: int, fingerprint: int | None) -> None:
        self.reached = self.reached.advanced(name, position, fingerprint)

    def forget(self, name: SegmentName) -> None:
        """Forgets the offset of a segment, so that reading restarts at its beginning."""
        self.reached = self.reached.forgotten(name)

    def finish(self, names: Iterable[SegmentName], *, present: Container[SegmentName]) -> None:
        """Notes segments as COMPLETED; `present` ones are never forgotten."""
        ledger = self.reached
        new = [name for name in names if not ledger.is_completed(name)]
        if new:
            ledger = ledger.finished(*new)
        self.reached = ledger.trimmed(present)
