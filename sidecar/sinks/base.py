"""The contract between the pipeline and a sink.

A sink takes numbered batches in order, keeps the order of events within a partition, and reports
the numbers of events that are durable. Acknowledgements may arrive in any order, and an event may
be delivered more than once (at least once).

Errors are of three kinds:

* retriable: no exception. The sink retries, and `state` reports the cause.
* per event: a `FailedEvent`. The pipeline decides about that event; delivery continues.
* fatal: an exception. `SinkRestartError` when the sink works again after `close`, `open` and
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
    """Numbers of durable events, as runs, and events that failed alone."""

    acknowledged: Sequence[range] = ()
    failed: Sequence[FailedEvent] = ()


@dataclass(frozen=True, slots=True)
class SinkState:
    """Whether the sink delivers events, with a message for the operator.

    `topics` are the destinations that cannot be written to, such as a topic that does not exist.
    While the sink delivers events of other topics, it is healthy.
    """

    healthy: bool
    message: str
    topics: Sequence[str] = field(default=())
    code: str = ""
    """Stable name of a known cause: `sink_access_denied`, `topic_missing`, `topic_access_denied`,
    `topic_unavailable` or `dead_letters_waiting`."""
    remedy: str = ""
    """What the operator can do; empty where the sink recovers by itself."""
    detail: str = ""
    """The client's own words about the cause; empty without any."""

    @property
    def explanation(self) -> str:
        """The message with its detail."""
        return f"{self.message}: {self.detail}" if self.detail else self.message


NOT_OPEN = SinkState(False, "the sink is not open yet.", remedy="Wait; `check` asks the sink.")
"""The state before the first `open`."""
CLOSED = SinkState(
    False,
    "the agent ends and has closed the sink.",
    code="sink_closed",
    remedy="Resolve the error with which the agent ends, if there is one, and start it again.",
)
"""The state at the end, whether or not the sink was ever open."""


class Outcome(Enum):
    """What became of a dead letter."""

    WAITING = "waiting"
    ACKNOWLEDGED = "acknowledged"
    REJECTED = "rejected"


class Sink(Protocol):
    """Used by one thread. `open` first, `close` last; after `close` it may be opened again."""

    def open(self) -> None:
        """Connect. An unavailable component is no error; `state` reports it."""

    def send(self, numbered: NumberedBatch[Any, Any], start: int, deadline_s: float) -> int:
        """Accept events start … of the batch, in order, and return how many were accepted.

        Returns after at most `deadline_s` seconds; 0 means that the sink accepts none now. `poll`
        or `close` reports each accepted number once. A batch without events only moves the
        position: it is always accepted and never reported.
        """

    def poll(self, timeout_s: float) -> DeliveryResult:
        """Return the results since the last call; wait up to `timeout_s` seconds for one."""

    def dead_letter(self, number: int) -> None:
        """Note that a failed event is recorded as a dead letter.

        A sink that stores positions advances past the event only after this call.
        """

    def state(self) -> SinkState:
        """Never blocks."""

    def close(self, deadline_s: float) -> DeliveryResult:
        """Finish what was accepted within the deadline, then release every resource.

        Numbers that are not reported must be sent again after the next `open`.
        """
