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
from sidecar.sinks.kafka.handed_over import HandedOver

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
class TopicPiece:
    """The events of one topic among events first … stop-1 of a batch, but the numbers `without`."""

    number: int
    """Of the first event of the range."""
    numbered: Numbered[Any, Any] = field(compare=False)
    first: int = field(compare=False)
    stop: int = field(compare=False)
    without: frozenset[int] = field(compare=False, default=frozenset())


@dataclass(slots=True)
class _WaitingTopic:
    """One topic, and the events that wait for it, in their order."""

    pause_s: float
    again_at_s: float
    pieces: list[TopicPiece]
    unanswered: list[HandedOver]
    """What must be answered before anything is sent: parts of it may have to be sent again."""
    problem: TopicProblem | None
    """None while the broker's metadata has the reason, or the topic is tried again."""
    trial: HandedOver | None = None


class WaitingTopics:
    """Used by the sink's thread. Counts from `clock`, which gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._topics: dict[str, _WaitingTopic] = {}
        self._handed: deque[HandedOver] = deque()

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

    def begin(self, topic: str) -> None:
        """From now on events of this topic wait."""
        self._waiting(topic)

    def handed_over(self, handed: HandedOver) -> None:
        """These events are on their way."""
        while self._handed and self._handed[0].is_answered:
            self._handed.popleft()
        self._handed.append(handed)

    def keep(self, topic: str, piece: TopicPiece) -> None:
        """Events that were not handed over."""
        insort(self._waiting(topic).pieces, piece)

    def refused(self, topic: str, handed: HandedOver, problem: TopicProblem) -> None:
        """An event of the topic among `handed` was not written: it and all later events of the
        topic are sent again."""
        waiting = self._waiting(topic)
        waiting.problem = problem
        if waiting.trial is handed:
            waiting.pause_s = min(_LONGEST_PAUSE_S, 2 * waiting.pause_s)
            waiting.trial = None
        waiting.again_at_s = self._clock() + waiting.pause_s
        later = list(self._handed)
        if handed in later:
            later = later[later.index(handed) :]
        for each in later:
            back = each.give_back(topic)
            if back is not None:
                number = back.numbered.first + back.first
                piece = TopicPiece(number, back.numbered, back.first, back.stop, back.without)
                insort(waiting.pieces, piece)
        waiting.unanswered = [each for each in self._handed if not each.is_answered]

    def due(self) -> Iterator[str]:
        """Topics whose events may be sent now, if the broker has the topic."""
        now_s = self._clock()
        for name, topic in tuple(self._topics.items()):
            if now_s >= topic.again_at_s and all(each.is_answered for each in topic.unanswered):
                yield name

    def is_over(self, topic: str) -> bool:
        """Whether nothing waits for the topic any more, which is noted."""
        waiting = self._topics[topic]
        if waiting.pieces or waiting.trial is not None:
            return False
        del self._topics[topic]
        return True

    def next_pieces(self, topic: str) -> Sequence[TopicPiece]:
        """What to send: the first piece alone until one was written, then all of them."""
        waiting = self._topics[topic]
        return tuple(waiting.pieces if waiting.problem is None else waiting.pieces[:1])

    def sent(self, topic: str, piece: TopicPiece, handed: HandedOver, rest: int) -> None:
        """A piece is on its way up to event `rest`; the others still wait."""
        waiting = self._topics[topic]
        waiting.pieces.remove(piece)
        if rest < piece.stop:
            number = piece.numbered.first + rest
            left = TopicPiece(number, piece.numbered, rest, piece.stop, piece.without)
            insort(waiting.pieces, left)
        self.handed_over(handed)
        if waiting.problem is not None:
            waiting.trial = handed
            waiting.unanswered = [handed]

    def settle(self) -> None:
        """Notes trials that were written."""
        for waiting in self._topics.values():
            trial = waiting.trial
            if trial is not None and trial.is_answered:
                waiting.trial, waiting.problem = None, None
                waiting.pause_s = _FIRST_PAUSE_S

    def _waiting(self, topic: str) -> _WaitingTopic:
        waiting = self._topics.get(topic)
        if waiting is None:
            unanswered = [each for each in self._handed if not each.is_answered]
            waiting = _WaitingTopic(_FIRST_PAUSE_S, self._clock(), [], unanswered, None)
            self._topics[topic] = waiting
        return waiting
