"""Two contestants on one machine at the same time, of which one stands still while the other runs.

A machine that others share changes its speed by a tenth and more within seconds, so of two runs one
after the other each is measured by another machine. Contestants that take turns of half a second
have the same one. What a contestant consists of is all its processes; the broker goes on for both.
"""

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benches.observing import Interval, TopicCounter, cpu_seconds
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import wait_until

_TURN_S = 0.5
# What a contestant has written already is the broker's to take, in nobody's time.
_PAUSE_S = 0.05
_FIRST_EVENTS = 20_000


@dataclass
class Contestant:
    """One that was started just now. `pid` is its first process, whose children belong to it."""

    pid: int
    counter: TopicCounter
    seconds: float = 0.0
    broker_cpu_s: float = 0.0

    def stop(self) -> None:
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
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
class _Look:
    events: int
    seconds: float
    cpu_s: float
    broker_cpu_s: float


def stop_at_first_events(contestant: Contestant) -> None:
    """Lets it start, and stop where it delivers."""
    wait_until(lambda: contestant.counter.count() >= _FIRST_EVENTS, "its first events")
    contestant.stop()


def take_turns(
    contestants: Sequence[Contestant], broker: KafkaBroker, events: int
) -> list[Interval]:
    """What each of these, all stopped, did in its own time until the first had `events`; then all
    go on. Every second round of turns has them the other way round."""
    order = list(contestants)
    time.sleep(_PAUSE_S)
    first = last = [_look(each) for each in contestants]
    while True:
        for each in order:
            _turn(each, broker)
        seen = [_look(each) for each in contestants]
        if max(each.events for each in seen) >= events:
            break
        last = seen
        order.reverse()
    for each in contestants:
        each.go_on()
    return [
        Interval(
            end.events - begin.events,
            end.seconds - begin.seconds,
            end.cpu_s - begin.cpu_s,
            end.broker_cpu_s - begin.broker_cpu_s,
        )
        for begin, end in zip(first, last, strict=True)
    ]


def _turn(contestant: Contestant, broker: KafkaBroker) -> None:
    assert broker.pid is not None
    begin_s, broker_cpu_s = time.monotonic(), cpu_seconds(broker.pid)
    contestant.go_on()
    time.sleep(_TURN_S)
    contestant.stop()
    contestant.seconds += time.monotonic() - begin_s
    time.sleep(_PAUSE_S)
    contestant.broker_cpu_s += cpu_seconds(broker.pid) - broker_cpu_s


def _look(contestant: Contestant) -> _Look:
    events = contestant.counter.count()
    return _Look(events, contestant.seconds, contestant.cpu_s(), contestant.broker_cpu_s)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *_children(child)]
    return found
