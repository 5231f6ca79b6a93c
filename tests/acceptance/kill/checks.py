"""Conditions that arrived records must meet after any kill. Pure functions; one line per fault."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from tests.acceptance.kill.arrivals import Arrival, Source

COMPLETED = 1 << 62
"""Position of a finished segment."""


@dataclass(frozen=True, slots=True)
class AgentRun:
    """One process of the agent, from its start to its end."""

    number: int
    started_ms: int
    end: Literal["killed", "stopped", "running"]
    flush_interval_ms: int
    """Minimum time between two stores of the offset."""
    stored: Mapping[int, int]
    """Last stored offset, by segment id."""

    def has_stored(self, source: Source) -> bool:
        """Whether the event lies below the stored offset."""
        return source.position <= self.stored.get(source.segment_id, 0)


def run_of(arrival: Arrival, runs: Sequence[AgentRun]) -> AgentRun:
    """Process that created the event."""
    return runs[bisect_right(runs, arrival.made_ms, key=lambda run: run.started_ms) - 1]


def differing_ids(arrivals: Iterable[Arrival]) -> Iterator[str]:
    """An event keeps its id each time it is sent."""
    ids: dict[Source, bytes] = {}
    for arrival in arrivals:
        if ids.setdefault(arrival.source, arrival.event_id) != arrival.event_id:
            yield f"{arrival.source} came with two event ids"


def misplaced(arrivals: Iterable[Arrival]) -> Iterator[str]:
    """All records of one partition key are in one partition of its topic."""
    places: dict[tuple[str, str], int] = {}
    for arrival in arrivals:
        key = arrival.topic, arrival.partition_key
        if places.setdefault(key, arrival.partition) != arrival.partition:
            yield f"{arrival.topic} has {arrival.partition_key} in two partitions"


def out_of_order(arrivals: Iterable[Arrival], runs: Sequence[AgentRun]) -> Iterator[str]:
    """Each process sends the events of a partition key in the order of the log, once."""
    sent: defaultdict[tuple[int, str, str], list[Arrival]] = defaultdict(list)
    for arrival in arrivals:
        sent[run_of(arrival, runs).number, arrival.topic, arrival.partition_key].append(arrival)
    for (number, topic, _), of_key in sent.items():
        of_key.sort(key=lambda arrival: arrival.offset)
        for earlier, later in pairwise(of_key):
            if earlier.source >= later.source:
                yield f"process {number} sent {later.source} of {topic} after {earlier.source}"


def repeats_of_stored(arrivals: Iterable[Arrival], runs: Sequence[AgentRun]) -> Iterator[str]:
    """No later process sends an event below a stored offset."""
    for arrival in arrivals:
        number = run_of(arrival, runs).number
        for run in runs[:number]:
            if run.has_stored(arrival.source):
                yield f"process {number} sent {arrival.source} that process {run.number} had done"
                break


def at_risk(arrivals: Iterable[Arrival], runs: Sequence[AgentRun]) -> dict[int, int]:
    """Number of events that each ended process had sent above its stored offset: only these are
    sent again (`repeats_of_stored`)."""
    sent: defaultdict[int, set[Source]] = defaultdict(set)
    for arrival in arrivals:
        sent[run_of(arrival, runs).number].add(arrival.source)
    return {
        run.number: sum(not run.has_stored(source) for source in sent[run.number])
        for run in runs
        if run.end != "running"
    }


def beyond_window(
    risked: Mapping[int, int], runs: Sequence[AgentRun], window_events: int
) -> Iterator[str]:
    """A killed process repeats at most a window and its unstored events; a stopped one repeats
    nothing."""
    for run in runs:
        count = risked.get(run.number, 0)
        if run.end == "stopped" and count:
            yield f"process {run.number} was stopped and left {count} events to repeat"
        if run.end == "killed" and run.flush_interval_ms == 0 and count > window_events:
            yield f"process {run.number} left {count} events to repeat, {window_events} may be"


def behind_the_chain(arrivals: Iterable[Arrival], chain_ends: Mapping[int, int]) -> Iterator[str]:
    """The agent emits no event after the last marker of a killed node's segment."""
    for arrival in arrivals:
        end = chain_ends.get(arrival.source.segment_id)
        if end is not None and arrival.source.position > end:
            yield f"{arrival.source} lies behind the last marker at {end}"


def incomplete(arrivals: Iterable[Arrival], expected: Mapping[Source, bytes]) -> Iterator[str]:
    """Arrived events equal the events of the segments: none is lost, none is invented."""
    arrived = {arrival.source: arrival.event_id for arrival in arrivals}
    for source in sorted(expected.keys() - arrived.keys()):
        yield f"{source} is in a segment and did not arrive"
    for source in sorted(arrived.keys() - expected.keys()):
        yield f"{source} arrived and is in no segment"
    for source in sorted(arrived.keys() & expected.keys()):
        if arrived[source] != expected[source]:
            yield f"{source} arrived with an id that its segment does not give"
