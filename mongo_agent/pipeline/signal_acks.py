"""The path of signals through the pipeline: applied, stored with a position, answered.

    given ──▶ applied to each stream ──▶ in a delivered position ──▶ stored ──▶ answer

The agent answers after it has stored the position: an earlier answer could be wrong after a kill.
"""

from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass, replace
from uuid import uuid4

from mongo_agent.metrics import MongoMetrics
from mongo_agent.offsets import AgentOffsets
from mongo_agent.pipeline.stream import Stream
from mongo_agent.signals.signal import Signal, SignalResult
from mongo_agent.snapshot.progress import SnapshotProgress

# Fewer than the stored progress remembers (`SnapshotProgress.seen`).
_MOST_UNSTORED = 50


@dataclass(slots=True)
class _Given:
    """A signal with its answer, which is None until the signal is applied."""

    signal: Signal
    future: Future[SignalResult]
    answer: SignalResult | None = None


class SignalAcks:
    """Any thread may call `submit`; only the pipeline's thread may call the other methods."""

    def __init__(self, metrics: MongoMetrics, ring: Callable[[], None]) -> None:
        """`ring` wakes the pipeline."""
        self._metrics = metrics
        self._ring = ring
        self._given: deque[_Given] = deque()
        self._unstored: deque[_Given] = deque()

    @property
    def is_waiting(self) -> bool:
        """Whether an answer waits for a stored position."""
        return bool(self._unstored)

    def submit(self, signal: Signal) -> Future[SignalResult]:
        """Queue a signal; its future completes when the signal is stored or rejected."""
        if signal.occurrence is None and signal.kafka_offset is None:
            signal = replace(signal, occurrence=uuid4().hex)
        given = _Given(signal, Future())
        self._given.append(given)
        self._ring()
        return given.future

    def apply(self, streams: Collection[Stream]) -> bool:
        """Apply queued signals to the streams, if any are open; return whether it applied one."""
        worked = False
        while streams and self._given and len(self._unstored) < _MOST_UNSTORED:
            given = self._given.popleft()
            answers = [stream.apply(given.signal) for stream in streams]
            # Each stream has its own collections, so one stream that accepts the signal is enough.
            best = next((each for each in answers if each.is_accepted), answers[0])
            if given.answer is None:
                self._metrics.count_answer(given.signal, best)
                given.answer = best
            if best.is_accepted:
                self._unstored.append(given)
            else:
                given.future.set_result(best)
            worked = True
        return worked

    def answer_stored(self, position: AgentOffsets) -> None:
        """Answer the signals that a stored position contains."""
        progresses = [stream.snapshot for stream in position.streams.values()]
        while self._unstored and all(_holds(each, self._unstored[0].signal) for each in progresses):
            given = self._unstored.popleft()
            assert given.answer is not None
            given.future.set_result(given.answer)

    def reapply(self) -> None:
        """Queue unstored signals again, because streams restart from the stored position."""
        self._given.extendleft(reversed(self._unstored))
        self._unstored.clear()

    def cancel(self) -> None:
        for given in (*self._unstored, *self._given):
            given.future.cancel()


def _holds(progress: SnapshotProgress, signal: Signal) -> bool:
    if signal.occurrence is not None:
        return signal.occurrence in progress.seen
    assert signal.kafka_offset is not None
    return progress.kafka_offset is not None and progress.kafka_offset >= signal.kafka_offset
