"""Topics that are currently unwritable, so that events of other topics overtake their events.

Kafka orders the events of a partition, so only events of the same topic wait for each other. A
waiting event stays in the window: the stored offset does not pass it, and the window limits how far
other tables get ahead.

    events   A1 B1 A2 C1 B2        topic B is unwritable
    sent     A1    A2 C1           B waits: B1, B2
    later                B1 B2     B is writable again; then its newer events

When a broker rejects an event of a topic, later events of that topic may be in flight. All of them
are sent again after it, even if they arrived: a consumer must not see an older event last.
"""

from bisect import insort
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from sidecar.sinks.kafka.in_flight import InFlightBatch, TopicSlice

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 30.0


@dataclass(frozen=True, slots=True)
class TopicProblem:
    """Why the sink cannot write to a topic."""

    code: str
    """`topic_missing`, `topic_access_denied` or `topic_unavailable`."""
    message: str
    remedy: str


@dataclass(slots=True)
class _UnavailableTopic:
    """One topic with its waiting events, in order."""

    pause_s: float
    again_at_s: float
    slices: list[TopicSlice]
    unreported: list[InFlightBatch]
    """Batches that must be reported first, because parts of them may have to be sent again."""
    problem: TopicProblem | None
    """None while the broker's metadata explains it, or while the topic is retried."""
    trial: InFlightBatch | None = None

    def queue(self, slice_: TopicSlice) -> None:
        insort(self.slices, slice_, key=lambda each: each.numbers.start)


class UnavailableTopics:
    """Holds waiting events by topic. Used by the sink's thread. `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._topics: dict[str, _UnavailableTopic] = {}
        self._in_flight: deque[InFlightBatch] = deque()

    @property
    def names(self) -> Collection[str]:
        """A live view of the topics."""
        return self._topics

    def __contains__(self, topic: str) -> bool:
        return topic in self._topics

    def __bool__(self) -> bool:
        return bool(self._topics)

    @property
    def problems(self) -> dict[str, TopicProblem]:
        """The problems of topics for which an event was rejected."""
        return {
            name: topic.problem for name, topic in self._topics.items() if topic.problem is not None
        }

    def add(self, topic: str) -> None:
        """Make events of this topic wait from now on."""
        self._waiting(topic)

    def track(self, sent: InFlightBatch) -> None:
        while self._in_flight and self._in_flight[0].is_settled:
            self._in_flight.popleft()
        self._in_flight.append(sent)

    def queue(self, topic: str, slice_: TopicSlice) -> None:
        """Queue events of the topic that were not sent."""
        self._waiting(topic).queue(slice_)

    def rejected(self, topic: str, sent: InFlightBatch, problem: TopicProblem) -> None:
        """Handle a rejected event of the topic in the batch `sent`: queue it and all later events
        of the topic, to send them again."""
        waiting = self._waiting(topic)
        waiting.problem = problem
        if waiting.trial is sent:
            waiting.pause_s = min(_LONGEST_PAUSE_S, 2 * waiting.pause_s)
            waiting.trial = None
        waiting.again_at_s = self._clock() + waiting.pause_s
        later = list(self._in_flight)
        if sent in later:
            later = later[later.index(sent) :]
        for each in later:
            back = each.take_unsent(topic)
            if back is not None:
                waiting.queue(back)
        waiting.unreported = [each for each in self._in_flight if not each.is_settled]

    def put_off(
        self, topic: str, problem: TopicProblem, after: InFlightBatch | None = None
    ) -> None:
        """Make the topic wait, because the client rejects an event for now. Events that it accepted
        before, including events in `after`, must be reported first."""
        waiting = self._waiting(topic)
        if waiting.problem is not None:
            waiting.pause_s = min(_LONGEST_PAUSE_S, 2 * waiting.pause_s)
        waiting.problem = problem
        waiting.again_at_s = self._clock() + waiting.pause_s
        waiting.unreported = [each for each in self._in_flight if not each.is_settled]
        if after is not None:
            waiting.unreported.append(after)

    def due(self) -> Iterator[str]:
        """Yield topics whose events may be sent now, if the broker has the topic."""
        now_s = self._clock()
        for name, topic in tuple(self._topics.items()):
            if now_s >= topic.again_at_s and all(each.is_settled for each in topic.unreported):
                yield name

    def remove_if_empty(self, topic: str) -> bool:
        """Remove the topic if no event waits for it. Return whether it was removed."""
        waiting = self._topics[topic]
        if waiting.slices or waiting.trial is not None:
            return False
        del self._topics[topic]
        return True

    def next_slices(self, topic: str) -> Sequence[TopicSlice]:
        """Return the slices to send: only the first until one is written, then all."""
        waiting = self._topics[topic]
        return tuple(waiting.slices if waiting.problem is None else waiting.slices[:1])

    def sent(self, topic: str, slice_: TopicSlice, sent: InFlightBatch, rest: int) -> None:
        """Record that a slice was sent up to event `rest`; later events still wait."""
        waiting = self._topics[topic]
        waiting.slices.remove(slice_)
        if rest < slice_.stop:
            waiting.queue(replace(slice_, first=rest))
        self.track(sent)
        if waiting.problem is not None:
            waiting.trial = sent
            waiting.unreported = [sent]

    def record_trials(self) -> None:
        for waiting in self._topics.values():
            trial = waiting.trial
            if trial is not None and trial.is_settled:
                waiting.trial, waiting.problem = None, None
                waiting.pause_s = _FIRST_PAUSE_S

    def _waiting(self, topic: str) -> _UnavailableTopic:
        waiting = self._topics.get(topic)
        if waiting is None:
            unreported = [each for each in self._in_flight if not each.is_settled]
            waiting = _UnavailableTopic(_FIRST_PAUSE_S, self._clock(), [], unreported, None)
            self._topics[topic] = waiting
        return waiting
