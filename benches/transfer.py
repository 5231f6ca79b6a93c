"""What sending finished segments to Google Cloud Storage costs the agent, beside keeping them here.

The agent over a backlog of finished segments into a real broker, by turns with
`commit.log.transfer.class` `archive` and `gcs`. The store is on the same two cores; a real one is
elsewhere. So it keeps nothing, has the lowest priority, and what it takes is told apart.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benches.backlog import run_agent
from benches.discarding_store import DiscardingStore, discarding_store
from benches.figures import Spread, print_table, write_result
from benches.machine import machine
from benches.observing import Observation, cpu_seconds
from benches.places import scratch_directory
from benches.progress import progress_bar
from benches.segments import SegmentSet, WrittenSegments, written
from tests.harness.kafka import KafkaBroker

FULL = SegmentSet("plain, 140 bytes", 32, 10, 61)
QUICK = SegmentSet("plain, 140 bytes", 32, 2, 61)
ARCHIVE, GCS = "archive", "gcs"
BUCKET = "bench"


@dataclass(frozen=True)
class Round:
    """One run; `store_cpu_s` and `sent_bytes` while it ran."""

    seen: Observation
    store_cpu_s: float
    sent_bytes: int

    @property
    def store_cores(self) -> float:
        """Of the two, what the store took."""
        samples = self.seen.samples
        return self.store_cpu_s / (samples[-1].at_s - samples[0].at_s)


def run(is_quick: bool) -> None:
    rounds = 1 if is_quick else 24
    at_start = machine()
    with progress_bar("writing segments"):
        segments = written(QUICK if is_quick else FULL)
    seen: dict[str, list[Round]] = {ARCHIVE: [], GCS: []}
    with (
        scratch_directory("transfer") as scratch,
        KafkaBroker(scratch / "kafka", heap_mib=1024) as broker,
        progress_bar("publishing", 2 * rounds) as step,
    ):
        for number in range(rounds):
            # Each begins every second round, so that neither is always the one behind the other.
            for name in (ARCHIVE, GCS) if number % 2 else (GCS, ARCHIVE):
                here = scratch / f"{name}-{number}"
                with discarding_store() as store:
                    seen[name].append(_round(name, broker, segments, here, store, number))
                step()
    file = write_result("transfer", at_start, is_quick, _figures(seen))
    print(at_start.sentence())
    _print(seen, segments.mutations)
    print(file)


def _round(
    name: str,
    broker: KafkaBroker,
    segments: WrittenSegments,
    directory: Path,
    store: DiscardingStore,
    number: int,
) -> Round:
    settings: Mapping[str, str] = {
        "commit.log.transfer.class": name,
        "remote.commit.log.relocation.dir": f"gs://{BUCKET}/cdc",
    }
    os.environ["STORAGE_EMULATOR_HOST"] = store.url
    try:
        before_s = cpu_seconds(store.pid)
        observation = run_agent(broker, segments, directory / "agent", f"{name}-{number}", settings)
        store_cpu_s = cpu_seconds(store.pid) - before_s
        sent_bytes = store.received_bytes()
        assert name == ARCHIVE or sent_bytes > 0, "nothing was sent"
        return Round(observation, store_cpu_s, sent_bytes)
    finally:
        del os.environ["STORAGE_EMULATOR_HOST"]


_VALUES: Mapping[str, Callable[[Round], float]] = {
    "events_per_s": lambda each: each.seen.steady.events_per_s,
    "cpu_us": lambda each: each.seen.steady.cpu_us_per_event,
    "max_rss_mib": lambda each: each.seen.max_rss_mib,
    "store_cores": lambda each: each.store_cores,
    "sent_mib": lambda each: each.sent_bytes / (1 << 20),
}


def _figures(seen: Mapping[str, Sequence[Round]]) -> dict[str, dict[str, Spread]]:
    figures = {
        name: {what: Spread.of([value(each) for each in runs]) for what, value in _VALUES.items()}
        for name, runs in seen.items()
    }
    figures["gcs / archive"] = {
        what: Spread.of(
            [
                _VALUES[what](gcs) / _VALUES[what](kept)
                for gcs, kept in zip(seen[GCS], seen[ARCHIVE], strict=True)
            ]
        )
        for what in ("events_per_s", "cpu_us")
    }
    return figures


def _print(seen: Mapping[str, Sequence[Round]], events: int) -> None:
    figures = _figures(seen)
    rows = [
        (
            name,
            figures[name]["events_per_s"].text(1, 1e3),
            figures[name]["cpu_us"].text(2),
            figures[name]["max_rss_mib"].text(),
            figures[name]["sent_mib"].text(),
            figures[name]["store_cores"].text(2),
        )
        for name in (ARCHIVE, GCS)
    ]
    columns = ("", "thousand/s", "CPU µs an event", "max MiB", "sent MiB", "the store's cores")
    print_table(f"{events:,} events, {len(seen[GCS])} rounds by turns", columns, rows)
    ratios = figures["gcs / archive"]
    print(f"gcs beside archive: {ratios['events_per_s'].text(3)} of the rate, ", end="")
    print(f"{ratios['cpu_us'].text(3)} of the CPU an event")
