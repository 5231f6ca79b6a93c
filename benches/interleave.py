"""Interleaves two candidates on one machine: one is stopped while the other runs.

The speed of a shared machine changes by a tenth within seconds, so consecutive runs are not
comparable. Candidates that alternate every half second run under the same conditions. A candidate
includes all its processes; the broker runs for both.
"""

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benches.sampling import Interval, TopicCounter, cpu_seconds
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import wait_until

_SLICE_S = 0.5
# The broker finishes the stopped candidate's requests; elapsed time excludes this pause.
_PAUSE_S = 0.05
_FIRST_EVENTS = 20_000


@dataclass
class Candidate:
    """A newly started candidate: the process `pid` and all its descendants."""

    pid: int
    counter: TopicCounter
    seconds: float = 0.0
    broker_cpu_s: float = 0.0

    def stop(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def cpu_s(self) -> float:
        return sum(cpu_seconds(pid) for pid in self.pids())

    def pids(self) -> list[int]:
        return [self.pid, *_children(self.pid)]

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, FileNotFoundError):
            for pid in self.pids():
                os.kill(pid, number)


@dataclass(frozen=True)
class _Sample:
    events: int
    seconds: float
    cpu_s: float
    broker_cpu_s: float


def stop_at_first_events(candidate: Candidate) -> None:
    """Wait until a starting candidate delivers events, then stop it."""
    wait_until(lambda: candidate.counter.count() >= _FIRST_EVENTS, "its first events")
    candidate.stop()


def run_interleaved(
    candidates: Sequence[Candidate], broker: KafkaBroker, events: int
) -> list[Interval]:
    """Alternate stopped candidates until one has delivered `events`, then resume all.

    Returns each candidate's interval. Every second round runs them in reverse order.
    """
    order = list(candidates)
    time.sleep(_PAUSE_S)
    first = last = [_sample(each) for each in candidates]
    while True:
        for each in order:
            _run_slice(each, broker)
        seen = [_sample(each) for each in candidates]
        if max(each.events for each in seen) >= events:
            break
        last = seen
        order.reverse()
    for each in candidates:
        each.resume()
    return [
        Interval(
            end.events - begin.events,
            end.seconds - begin.seconds,
            end.cpu_s - begin.cpu_s,
            end.broker_cpu_s - begin.broker_cpu_s,
        )
        for begin, end in zip(first, last, strict=True)
    ]


def _run_slice(candidate: Candidate, broker: KafkaBroker) -> None:
    assert broker.pid is not None
    begin_s, broker_cpu_s = time.monotonic(), cpu_seconds(broker.pid)
    candidate.resume()
    time.sleep(_SLICE_S)
    candidate.stop()
    candidate.seconds += time.monotonic() - begin_s
    time.sleep(_PAUSE_S)
    candidate.broker_cpu_s += cpu_seconds(broker.pid) - broker_cpu_s


def _sample(candidate: Candidate) -> _Sample:
    events = candidate.counter.count()
    return _Sample(events, candidate.seconds, candidate.cpu_s(), candidate.broker_cpu_s)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *_children(child)]
    return found
