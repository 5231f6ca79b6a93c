"""Topics that cannot be written to for now; events of other topics pass theirs.

Kafka orders the events of a partition, so only events of the same topic must wait for each other.
An event that waits stays in the window: the stored offset does not pass it, and the window bounds
how far other tables get ahead.

    events   A1 B1 A2 C1 B2        topic B cannot be written to
    sent     A1    A2 C1           B waits: B1, B2
    later                B1 B2     B can be written to again; then its newer events

When a broker refuses an event of a topic, later events of that topic may be on their way. They are
all sent again after it, also those that arrive: a consumer must not see an older event last.
"""

from bisect import insort
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sidecar.delivery import Numbered
from sidecar.sinks.kafka.in_flight import InFlightBatch

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 30.0


@dataclass(frozen=True, slots=True)
class TopicProblem:
    """Why a topic cannot be written to."""

    code: str
    """`topic_missing`, `topic_refused` or `topic_unavailable`."""
    message: str
    remedy: str


@dataclass(frozen=True, slots=True, order=True)
class TopicSlice:
    """The events of one topic among events first … stop-1 of a batch, but the numbers `without`."""

    number: int
    """Of the first event of the range."""
    numbered: Numbered[Any, Any] = field(compare=False)
    first: int = field(compare=False)
    stop: int = field(compare=False)
    without: frozenset[int] = field(compare=False, default=frozenset())


@dataclass(slots=True)
class _UnavailableTopic:
    """One topic, and the events that wait for it, in their order."""

    pause_s: float
    again_at_s: float
    slices: list[TopicSlice]
    unanswered: list[InFlightBatch]
    """What must be answered before anything is sent: parts of it may have to be sent again."""
    problem: TopicProblem | None
    """None while the broker's metadata has the reason, or the topic is tried again."""
    trial: InFlightBatch | None = None


class UnavailableTopics:
    """Used by the sink's thread. Counts from `clock`, which gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._topics: dict[str, _UnavailableTopic] = {}
        self._in_flight: deque[InFlightBatch] = deque()

    @property
    def names(self) -> Collection[str]:
        """The topics; follows what changes."""
        return self._topics

    def __contains__(self, topic: str) -> bool:
        return topic in self._topics

    def __bool__(self) -> bool:
        return bool(self._topics)

    @property
    def problems(self) -> dict[str, TopicProblem]:
        """By topic, where a broker refused an event."""
        return {
            name: topic.problem for name, topic in self._topics.items() if topic.problem is not None
        }

    def add(self, topic: str) -> None:
        """From now on events of this topic wait."""
        self._waiting(topic)

    def track(self, sent: InFlightBatch) -> None:
        """These events are on their way."""
        while self._in_flight and self._in_flight[0].is_settled:
            self._in_flight.popleft()
        self._in_flight.append(sent)

    def queue(self, topic: str, slice_: TopicSlice) -> None:
        """Events that were not sent over."""
        insort(self._waiting(topic).slices, slice_)

    def rejected(self, topic: str, sent: InFlightBatch, problem: TopicProblem) -> None:
        """An event of the topic among `sent` was not written: it and all later events of the
        topic are sent again."""
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
                number = back.numbered.first + back.first
                slice_ = TopicSlice(number, back.numbered, back.first, back.stop, back.without)
                insort(waiting.slices, slice_)
        waiting.unanswered = [each for each in self._in_flight if not each.is_settled]

    def due(self) -> Iterator[str]:
        """Topics whose events may be sent now, if the broker has the topic."""
        now_s = self._clock()
        for name, topic in tuple(self._topics.items()):
            if now_s >= topic.again_at_s and all(each.is_settled for each in topic.unanswered):
                yield name

    def remove_if_empty(self, topic: str) -> bool:
        """Whether nothing waits for the topic any more, which is noted."""
        waiting = self._topics[topic]
        if waiting.slices or waiting.trial is not None:
            return False
        del self._topics[topic]
        return True

    def next_slices(self, topic: str) -> Sequence[TopicSlice]:
        """What to send: the first slice_ alone until one was written, then all of them."""
        waiting = self._topics[topic]
        return tuple(waiting.slices if waiting.problem is None else waiting.slices[:1])

    def sent(self, topic: str, slice_: TopicSlice, sent: InFlightBatch, rest: int) -> None:
        """A slice_ is on its way up to event `rest`; the others still wait."""
        waiting = self._topics[topic]
        waiting.slices.remove(slice_)
        if rest < slice_.stop:
            number = slice_.numbered.first + rest
            left = TopicSlice(number, slice_.numbered, rest, slice_.stop, slice_.without)
            insort(waiting.slices, left)
        self.track(sent)
        if waiting.problem is not None:
            waiting.trial = sent
            waiting.unanswered = [sent]

    def settle_trials(self) -> None:
        """Notes trials that were written."""
        for waiting in self._topics.values():
            trial = waiting.trial
            if trial is not None and trial.is_settled:
                waiting.trial, waiting.problem = None, None
                waiting.pause_s = _FIRST_PAUSE_S

    def _waiting(self, topic: str) -> _UnavailableTopic:
        waiting = self._topics.get(topic)
        if waiting is None:
            unanswered = [each for each in self._in_flight if not each.is_settled]
            waiting = _UnavailableTopic(_FIRST_PAUSE_S, self._clock(), [], unanswered, None)
            self._topics[topic] = waiting
        return waiting
