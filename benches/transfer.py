"""Compares uploading finished segments to Google Cloud Storage with archiving them.

Two agents alternate: with a real broker and the same backlog of finished segments, but
`commit.log.transfer.class` `archive` and `gcs`. Pairs of two `archive` agents show the measurement
error. The store shares the cores, but a real store runs elsewhere. So it stores nothing, has the
lowest priority, and its cost is reported separately.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benches.backlog import agent_over
from benches.discarding_store import DiscardingStore, discarding_store
from benches.harness import Result, Spread, print_table, progress_bar, scratch_directory
from benches.interleave import Candidate, run_interleaved, stop_at_first_events
from benches.sampling import Interval, cpu_seconds, peak_memory_mib
from benches.segments import SegmentSet, WrittenSegments, written
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import wait_until

FULL = SegmentSet("plain, 140 bytes", 32, 10, 61)
QUICK = SegmentSet("plain, 140 bytes", 32, 2, 61)
ARCHIVE, GCS = "archive", "gcs"
SENT, SAME = (ARCHIVE, GCS), (ARCHIVE, ARCHIVE)
BUCKET = "bench"
_FULL_PAIRS, _FULL_SAME_PAIRS = 16, 8


@dataclass(frozen=True)
class Agent:
    """One agent of a pair; memory is the sum of its processes' peaks."""

    name: str
    did: Interval
    memory_mib: tuple[float, ...]


@dataclass(frozen=True)
class Pair:
    """Two interleaved agents, and the store's CPU time and received bytes in the same time."""

    first: Agent
    second: Agent
    store_cpu_s: float
    sent_bytes: int

    @property
    def rate_ratio(self) -> float:
        return self.second.did.events_per_s / self.first.did.events_per_s

    @property
    def cpu_ratio(self) -> float:
        return self.second.did.cpu_us_per_event / self.first.did.cpu_us_per_event


def run(is_quick: bool) -> Result:
    counts = {SENT: 1, SAME: 1} if is_quick else {SENT: _FULL_PAIRS, SAME: _FULL_SAME_PAIRS}
    segments = written(QUICK if is_quick else FULL)
    seen: dict[tuple[str, str], list[Pair]] = {SENT: [], SAME: []}
    with (
        scratch_directory("transfer") as scratch,
        KafkaBroker(scratch / "kafka", heap_mib=1024) as broker,
        progress_bar("publishing", sum(counts.values())) as step,
    ):
        for number in range(max(counts.values())):
            for names in (SENT, SAME):
                if number < counts[names]:
                    here = scratch / f"{number}-{names[1]}"
                    seen[names].append(_pair(names, broker, segments, here, number))
                    step()
    figures = _figures(seen)
    _print(figures, seen, segments.mutations)
    return figures


def _pair(
    names: tuple[str, str],
    broker: KafkaBroker,
    segments: WrittenSegments,
    directory: Path,
    number: int,
) -> Pair:
    """Run one pair; the agent that starts and runs first alternates with `number`."""
    places = (0, 1) if number % 2 else (1, 0)
    with ExitStack() as stack:
        store = stack.enter_context(discarding_store())
        candidates: dict[int, Candidate] = {}
        for place in places:
            here, prefix = directory / str(place), f"{directory.name}-{place}"
            candidates[place] = _started(stack, names[place], broker, segments, here, prefix, store)
            stop_at_first_events(candidates[place])
        in_turn = [candidates[place] for place in places]
        before_s = cpu_seconds(store.pid)
        did = dict(zip(places, run_interleaved(in_turn, broker, segments.mutations), strict=True))
        store_cpu_s, sent_bytes = cpu_seconds(store.pid) - before_s, store.received_bytes()
        assert GCS not in names or sent_bytes > 0, "nothing was sent"
        wait_until(
            lambda: min(each.counter.count() for each in in_turn) >= segments.mutations,
            "the last event",
        )
        first, second = (
            Agent(
                names[place],
                did[place],
                tuple(peak_memory_mib(pid) for pid in candidates[place].pids()),
            )
            for place in (0, 1)
        )
        return Pair(first, second, store_cpu_s, sent_bytes)


def _started(
    stack: ExitStack,
    transfer: str,
    broker: KafkaBroker,
    segments: WrittenSegments,
    directory: Path,
    prefix: str,
    store: DiscardingStore,
) -> Candidate:
    settings = {
        "node.id": prefix,
        "commit.log.transfer.class": transfer,
        "remote.commit.log.relocation.dir": f"gs://{BUCKET}/cdc",
    }
    os.environ["STORAGE_EMULATOR_HOST"] = store.url
    try:
        candidate = Candidate(
            *stack.enter_context(agent_over(broker, segments, directory, prefix, settings))
        )
    finally:
        del os.environ["STORAGE_EMULATOR_HOST"]
    # A stopped worker process would not notice that its agent was killed.
    stack.callback(candidate.resume)
    return candidate


Seen = Mapping[tuple[str, str], Sequence[Pair]]
Figures = dict[str, dict[str, Spread]]
_VALUES: Mapping[str, Callable[[Agent], float]] = {
    "events_per_s": lambda each: each.did.events_per_s,
    "cpu_us": lambda each: each.did.cpu_us_per_event,
    "agent_mib": lambda each: each.memory_mib[0],
    "store_process_mib": lambda each: sum(each.memory_mib[1:]),
}


def _figures(seen: Seen) -> Figures:
    sides = {
        ARCHIVE: [pair.first for pair in seen[SENT]],
        GCS: [pair.second for pair in seen[SENT]],
    }
    figures = {
        name: {key: Spread.of(map(value, agents)) for key, value in _VALUES.items()}
        for name, agents in sides.items()
    }
    for (first, second), pairs in seen.items():
        figures[f"{second} / {first}"] = {
            "events_per_s": Spread.of(pair.rate_ratio for pair in pairs),
            "cpu_us": Spread.of(pair.cpu_ratio for pair in pairs),
            "store_cpu_s": Spread.of(pair.store_cpu_s for pair in pairs),
            "sent_mib": Spread.of(pair.sent_bytes / (1 << 20) for pair in pairs),
        }
    return figures


def _print(figures: Figures, seen: Seen, events: int) -> None:
    print_table(
        f"{events:,} events, {len(seen[SENT])} interleaved pairs",
        (ARCHIVE, GCS),
        {
            "": lambda name: name,
            "thousand/s": lambda name: figures[name]["events_per_s"].text(1, 1e3),
            "CPU µs an event": lambda name: figures[name]["cpu_us"].text(2),
            "peak MiB": lambda name: figures[name]["agent_mib"].text(),
            "of its child, MiB": lambda name: figures[name]["store_process_mib"].text(),
        },
    )
    for names, pairs in seen.items():
        of_pair = figures[f"{names[1]} / {names[0]}"]
        print(
            f"{names[1]} / {names[0]}, {len(pairs)} pairs: {of_pair['events_per_s'].text(3)} of "
            f"the rate, {of_pair['cpu_us'].text(3)} of the CPU an event; "
            f"{of_pair['sent_mib'].text()} MiB sent at {of_pair['store_cpu_s'].text(2)} CPU s of "
            "the store"
        )
