"""The dead-letter topic, `errors.deadletterqueue.topic.name`, as in Kafka Connect.

The agent sends an event that the sink rejects to this topic, with the reason in headers. It uses a
separate producer, opened for the first such event. The event is done once the topic acknowledges
it. The agent waits for an unavailable broker. If the topic rejects the event, does not exist or
denies access, the caller stores the event in a file instead.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sidecar.config.settings import SidecarProperties
from sidecar.dead_letters.dead_letter import RejectedEvent
from sidecar.delivery.sink_registry import create_sink
from sidecar.errors import AccessDeniedError, SinkRestartError
from sidecar.events import Message, NumberedBatch
from sidecar.events.message_batch import MessageBatch
from sidecar.logs import RateLimitedLog
from sidecar.sinks.base import DEAD_LETTERS_WAITING, Outcome, Sink, SinkState

logger = logging.getLogger(__name__)

_CONNECT = "__connect.errors."
_SEND_S = 1.0
_RETRY_S = 1.0
_TOO_LARGE = "org.apache.kafka.common.errors.RecordTooLargeException"
_REJECTED = "org.apache.kafka.common.errors.ApiException"


class _OneMessage(MessageBatch):
    """A batch with one message and no position."""

    def __init__(self, message: Message) -> None:
        self._message = message

    def __len__(self) -> int:
        return 1

    @property
    def size_bytes(self) -> int:
        return len(self._message[1]) + len(self._message[2] or b"")

    def position_after(self, events: int, /) -> None:
        return None

    def messages(self, first: int, stop: int, /) -> Sequence[Message]:
        return [self._message][first:stop]


class DeadLetterTopic:
    """Sends rejected events to the dead-letter topic, on the loop's thread."""

    def __init__(
        self,
        topic: str,
        sink: Sink,
        *,
        connector: str,
        has_context: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`sink` is a dedicated Kafka sink, not yet open; `connector` is the name in the headers.
        `clock` returns seconds."""
        self.topic = topic
        self._sink = sink
        self._connector = connector
        self._has_context = has_context
        self._clock = clock
        self._is_open = False
        self._open_at_s = clock()
        self._unsent: dict[int, Message] = {}
        self._sent: dict[int, Message] = {}
        self._outcomes: dict[int, Outcome] = {}
        self._problem = ""
        self._repeated = RateLimitedLog(logger, clock=clock)

    @property
    def state(self) -> SinkState | None:
        """The topic's state if dead letters wait because of a problem, else None."""
        if not (self._unsent or self._sent):
            return None
        reason = self._problem
        if self._is_open and not reason:
            state = self._sink.state()
            reason = "" if state.healthy else state.message
        if not reason:
            return None
        return SinkState(
            True,
            f"rejected events wait for the dead-letter topic {self.topic}: {reason}",
            (self.topic,),
            DEAD_LETTERS_WAITING,
            "Start the topic's brokers until enough replicas are in sync. To store these events "
            "in files instead, remove errors.deadletterqueue.topic.name and restart the agent.",
        )

    def keep(self, rejected: RejectedEvent[Any, Any]) -> Outcome:
        """Sends the event on the first call, and returns its outcome. Waits at most a few seconds
        for the broker. A final outcome remains until `discard`."""
        number = rejected.number
        if number not in self._outcomes and number not in self._sent | self._unsent:
            self._unsent[number] = self._dead_letter(rejected)
            self._repeated.log(
                "event",
                f"The sink rejected an event for the topic {rejected.message[0]}: "
                f"{rejected.reason}. The agent sends it to the dead-letter topic {self.topic}.",
            )
        try:
            self._tick()
        except (SinkRestartError, AccessDeniedError) as error:
            self._restart(str(error))
            if isinstance(error, AccessDeniedError):
                self._give_up(str(error))
        return self._outcomes.get(number, Outcome.WAITING)

    def discard(self, number: int) -> Outcome | None:
        """Forgets a finished event and returns its outcome, or None for an unknown event."""
        return self._outcomes.pop(number, None)

    def forget(self) -> None:
        """Drops all events: the agent reads unacknowledged events again, and resends them."""
        self._unsent.clear()
        self._sent.clear()
        self._outcomes.clear()

    def close(self, deadline_s: float) -> None:
        if self._is_open:
            self._is_open = False
            self._sink.close(deadline_s)

    def _tick(self) -> None:
        if not self._is_open:
            if self._clock() < self._open_at_s:
                return
            self._sink.open()
            self._is_open = True
            self._problem = ""
        for number, message in tuple(self._unsent.items()):
            if not self._sink.send(NumberedBatch(None, _OneMessage(message), number), 0, _SEND_S):
                break
            self._sent[number] = self._unsent.pop(number)
        result = self._sink.poll(0.0)
        for run in result.acknowledged:
            for number in run:
                self._settle(number, Outcome.ACKNOWLEDGED)
        for failed in result.failed:
            self._repeated.log(
                "rejected",
                f"The dead-letter topic {self.topic} rejects an event, so the agent stores it in a "
                f"file: {failed.reason}.",
            )
            self._settle(failed.number, Outcome.REJECTED)
        state = self._sink.state()
        if self.topic in state.topics:
            self._restart("")
            self._give_up(f"{state.message}. {state.remedy}".strip())

    def _give_up(self, reason: str) -> None:
        """Rejects all waiting events, because the topic does not exist or denies access."""
        self._repeated.log(
            "unusable",
            f"The dead-letter topic {self.topic} cannot be written, so the agent stores rejected "
            f"events in files: {reason}",
        )
        for number in (*self._unsent, *self._sent):
            self._settle(number, Outcome.REJECTED)

    def _settle(self, number: int, outcome: Outcome) -> None:
        waits = self._sent.pop(number, None) or self._unsent.pop(number, None)
        if waits is not None:
            self._outcomes[number] = outcome

    def _restart(self, reason: str) -> None:
        """Closes the sink. After a pause, it is opened again and unacknowledged events resent."""
        self._is_open = False
        self._sink.close(0.0)
        self._unsent = self._sent | self._unsent
        self._sent = {}
        self._problem = reason
        self._open_at_s = self._clock() + _RETRY_S

    def _dead_letter(self, rejected: RejectedEvent[Any, Any]) -> Message:
        topic, key, value, headers, partition_hash = rejected.message
        context = self._context(topic, rejected) if self._has_context else {}
        added = [(name, text.encode()) for name, text in context.items()]
        return self.topic, key, value, [*headers, *added], partition_hash

    def _context(self, topic: str, rejected: RejectedEvent[Any, Any]) -> Mapping[str, str]:
        """Returns Kafka Connect's headers and the agent's own."""
        is_too_large = "bytes: " in rejected.reason or "too large" in rejected.reason.lower()
        start, end = rejected.start, rejected.end
        has_numbers = isinstance(start, int) and isinstance(end, int)
        return {
            f"{_CONNECT}topic": topic,
            f"{_CONNECT}connector.name": self._connector,
            f"{_CONNECT}task.id": "0",
            f"{_CONNECT}stage": "KAFKA_PRODUCE",
            f"{_CONNECT}exception.class.name": _TOO_LARGE if is_too_large else _REJECTED,
            f"{_CONNECT}exception.message": rejected.reason,
            "cdc.dead.letter.topic": topic,
            "cdc.dead.letter.reason": rejected.reason,
            "cdc.dead.letter.source": str(rejected.source),
            "cdc.dead.letter.position": f"{start}-{end}" if has_numbers else "",
        }


def create_dead_letter_topic(
    properties: SidecarProperties, connector: str
) -> DeadLetterTopic | None:
    """Creates the dead-letter topic, not yet open, or returns None if none is configured.
    `connector` is the name in its headers. Raises ConfigError."""
    if properties.dead_letter_topic is None or properties.sink != "kafka":
        return None
    return DeadLetterTopic(
        properties.dead_letter_topic,
        create_sink(properties),
        connector=connector,
        has_context=properties.dead_letter_context,
    )
