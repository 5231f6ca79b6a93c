"""The contract between the pipeline and a sink.

A sink accepts numbered batches in order, preserves the order of events within a partition, and
reports the numbers of durable events. Acknowledgements may arrive in any order, and an event may be
delivered more than once (at least once).

There are three kinds of errors:

* retriable: no exception. The sink retries, and `state` reports the cause.
* per event: a `FailedEvent`. The pipeline decides about that event; delivery continues.
* fatal: an exception. `SinkRestartError` if the sink will work again after `close`, `open` and
  resending from the watermark; `AccessDeniedError`, `ConfigError` or `SinkError` otherwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from sidecar.events import NumberedBatch

DEAD_LETTERS_WAITING = "dead_letters_waiting"
"""Code of a `SinkState`: rejected events are not yet recorded as dead letters."""


@dataclass(frozen=True, slots=True)
class FailedEvent:
    """An event that the sink can never deliver, with the reason."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """Durable events, as runs of numbers, and events that failed individually."""

    acknowledged: Sequence[range] = ()
    failed: Sequence[FailedEvent] = ()


@dataclass(frozen=True, slots=True)
class SinkState:
    """Whether the sink delivers events, with a message for the operator.

    `topics` are the unwritable destinations, such as a topic that does not exist. While the sink
    delivers events of other topics, it is healthy.
    """

    healthy: bool
    message: str
    topics: Sequence[str] = field(default=())
    code: str = ""
    """Stable name of a known cause: `sink_access_denied`, `topic_missing`, `topic_access_denied`,
    `topic_unavailable` or `dead_letters_waiting`."""
    remedy: str = ""
    """What the operator can do; empty if the sink recovers by itself."""
    detail: str = ""
    """The client's own text about the cause; may be empty."""

    @property
    def explanation(self) -> str:
        return f"{self.message}: {self.detail}" if self.detail else self.message


NOT_OPEN = SinkState(False, "the sink is not open yet.", remedy="Wait; `check` tests the sink.")
"""The state before the first `open`."""
CLOSED = SinkState(
    False,
    "the agent is stopping and has closed the sink.",
    code="sink_closed",
    remedy="Resolve the error that stops the agent, if there is one, and start it again.",
)
"""The final state, even if the sink was never open."""


class Outcome(Enum):
    """The outcome of sending a dead letter."""

    WAITING = "waiting"
    ACKNOWLEDGED = "acknowledged"
    REJECTED = "rejected"


class Sink(Protocol):
    """Used by one thread. Call `open` first and `close` last; a closed sink may be opened again."""

    def open(self) -> None:
        """Connect. An unavailable component is not an error; `state` reports it."""

    def send(self, numbered: NumberedBatch[Any, Any], start: int, deadline_s: float) -> int:
        """Accept events start … of the batch, in order, and return how many were accepted.

        Returns after at most `deadline_s` seconds; 0 means that the sink currently accepts none.
        `poll` or `close` reports each accepted number once. A batch without events only advances
        the position: it is always accepted and never reported.
        """

    def poll(self, timeout_s: float) -> DeliveryResult:
        """Return the results since the previous call; wait up to `timeout_s` seconds for one."""

    def dead_letter(self, number: int) -> None:
        """Record that a failed event is stored as a dead letter.

        A sink that stores positions advances past the event only after this call.
        """

    def state(self) -> SinkState:
        """Return the state without blocking."""

    def close(self, deadline_s: float) -> DeliveryResult:
        """Deliver accepted events within the deadline, then release all resources.

        Numbers that are not reported must be sent again after the next `open`.
        """
