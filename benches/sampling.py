"""Samples a process from outside: its events in a topic, CPU time and memory."""

import os
import time
from dataclasses import dataclass
from math import nan
from pathlib import Path

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from tests.support.servers.errors import ServerFailedError
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import wait_until

_SAMPLE_INTERVAL_S = 0.1
_DEADLINE_S = 1800.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Sample:
    """Events in the topic, and resources used, at `at_s` of the monotonic clock."""

    at_s: float
    events: int
    cpu_s: float
    broker_cpu_s: float
    rss_mib: float


@dataclass(frozen=True)
class Interval:
    """The difference between two samples. Without events, the rates are `nan`."""

    events: int
    seconds: float
    cpu_s: float
    broker_cpu_s: float

    @property
    def events_per_s(self) -> float:
        return self.events / self.seconds if self.events else nan

    @property
    def cpu_us_per_event(self) -> float:
        return self.cpu_s / self.events * 1e6 if self.events else nan

    @property
    def broker_cpu_us_per_event(self) -> float:
        return self.broker_cpu_s / self.events * 1e6 if self.events else nan


@dataclass(frozen=True)
class Observation:
    """Samples from the start of a process until its final event is in the topic.

    The first sample precedes the first event. `max_rss_mib` is the process's peak resident memory.
    """

    samples: tuple[Sample, ...]
    max_rss_mib: float

    @property
    def events(self) -> int:
        return self.samples[-1].events

    @property
    def start_up(self) -> Interval:
        """From the start to the first sample with an event."""
        return between(self.samples[0], self._first)

    @property
    def steady(self) -> Interval:
        """From the first sample with an event to the end."""
        return between(self._first, self.samples[-1])

    @property
    def last_third(self) -> Interval:
        return self.part(self.events * 2 // 3, self.events)

    def part(self, first: int, stop: int) -> Interval:
        """From the first sample with at least `first` events to the first with at least `stop`."""
        seen = self.samples[self.samples.index(self._first) :]
        begin = next(sample for sample in seen if sample.events >= first)
        end = next(sample for sample in seen if sample.events >= stop)
        return between(begin, end)

    @property
    def _first(self) -> Sample:
        return next(sample for sample in self.samples if sample.events)


def between(begin: Sample, end: Sample) -> Interval:
    return Interval(
        end.events - begin.events,
        end.at_s - begin.at_s,
        end.cpu_s - begin.cpu_s,
        end.broker_cpu_s - begin.broker_cpu_s,
    )


class TopicCounter:
    """Counts the records of a topic by its end offsets."""

    def __init__(self, broker: KafkaBroker, topic: str, partitions: int) -> None:
        self._admin = broker.admin()
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        self._wanted = {TopicPartition(topic, each): latest for each in range(partitions)}
        wait_until(self._has_leaders, f"the leaders of {topic}")

    def count(self) -> int:
        answers = self._admin.list_offsets(self._wanted, request_timeout=60)
        return sum(answer.result().offset for answer in answers.values())

    def _has_leaders(self) -> bool:
        try:
            return self.count() >= 0
        except KafkaException:
            return False


def observe(pid: int, counter: TopicCounter, broker: KafkaBroker, events: int) -> Observation:
    """Sample a newly started process until the topic has `events` records."""
    broker_pid = broker.pid
    assert broker_pid is not None
    broker_start_s = cpu_seconds(broker_pid)
    samples = [Sample(time.monotonic(), 0, 0.0, 0.0, 0.0)]
    max_rss_mib = 0.0
    while samples[-1].events < events:
        time.sleep(_SAMPLE_INTERVAL_S)
        seen = counter.count()
        try:
            cpu_s, rss_mib = cpu_seconds(pid), _memory_mib(pid, "VmRSS")
            max_rss_mib = peak_memory_mib(pid)
        except (FileNotFoundError, ProcessLookupError):
            raise ServerFailedError(
                f"process {pid} ended at {seen:,} of {events:,} events"
            ) from None
        broker_cpu_s = cpu_seconds(broker_pid) - broker_start_s
        samples.append(Sample(time.monotonic(), seen, cpu_s, broker_cpu_s, rss_mib))
        if samples[-1].at_s > samples[0].at_s + _DEADLINE_S:
            raise ServerFailedError(f"only {seen:,} of {events:,} events in {_DEADLINE_S:.0f} s")
    return Observation(tuple(samples), max_rss_mib)


def cpu_seconds(pid: int) -> float:
    """User and system seconds of all threads of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def peak_memory_mib(pid: int) -> float:
    """Peak resident memory of a process in MiB."""
    return _memory_mib(pid, "VmHWM")


def _memory_mib(pid: int, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(f"process {pid} is ending")
