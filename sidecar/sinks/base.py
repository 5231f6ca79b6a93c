"""The contract between the pipeline and a sink.

A sink takes numbered batches in order, keeps the order of the events of a partition, and gives the
numbers back when the events are safe. Acknowledgement may come in any order, and an event may
arrive more than once (at least once).

Errors are of three kinds. A *retriable* one is no exception: the sink keeps trying and `state` says
what is wrong. One *of an event* is a `Failure` in an outcome; the pipeline decides what becomes of
the event and the others go on. A *fatal* one is raised: `SinkRestartError` when the sink can go on
after `close` and `open` with the events sent again from the watermark, `RefusedError`,
`ConfigError` or `SinkError` when it cannot.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sidecar.delivery import Numbered


@dataclass(frozen=True, slots=True)
class Failure:
    """An event that the sink will never take, and why, in one sentence."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """Runs of numbers that are safe, and events that failed alone."""

    acknowledged: Sequence[range] = ()
    failed: Sequence[Failure] = ()


@dataclass(frozen=True, slots=True)
class SinkState:
    """Whether events go through, and one sentence about it for a person.

    `topics` are the destinations that wait for something outside, such as a topic to be made. While
    events of others go through, a sink with such topics is healthy.
    """

    healthy: bool
    sentence: str
    topics: Sequence[str] = field(default=())
    code: str = ""
    """Stable name of what is wrong, where one cause is known: `sink_refused`, `topic_missing`,
    `topic_refused` or `topic_unavailable`."""
    remedy: str = ""
    """What to do about it; empty where waiting is enough."""


class Sink(Protocol):
    """Used by one thread. `open` first, `close` last; after `close` it may be opened again."""

    def open(self) -> None:
        """Get ready. A component that is away is no error; `state` tells."""

    def send(self, numbered: Numbered[Any, Any], start: int, deadline_s: float) -> int:
        """Take events start … of the batch, in order, and say how many were taken.

        Returns after `deadline_s` seconds at the latest; 0 means: not now. What was taken is
        answered by `poll` or `close`, each number once. A batch without events moves the position
        alone: it is always taken, and nothing answers for it.
        """

    def poll(self, timeout_s: float) -> Outcome:
        """What became known since the last call; waits for something up to `timeout_s` seconds."""

    def set_aside(self, number: int) -> None:
        """An event that failed is kept elsewhere. A sink that stores positions goes past it only
        then."""

    def state(self) -> SinkState:
        """Never waits."""

    def close(self, deadline_s: float) -> Outcome:
        """Bring to an end what was taken, within the deadline, and let go of everything.

        Numbers without an answer are lost to this sink: they are sent again after the next start.
        """
