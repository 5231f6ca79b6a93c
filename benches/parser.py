"""Compares the parser with Cassandra's own reader: same segments, same run, one core each.

Rounds alternate, so other programs on the machine affect both. A ratio compares two consecutive
rounds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from benches.harness import Result, Spread, print_table, progress_bar
from benches.reader_process import MODES, Mode, ReadingProcess
from benches.segments import SegmentSet, WrittenSegments, written
from tests.support.servers.java_reader import JavaBench

FULL = (
    SegmentSet("plain, 140 bytes", 32, 5, 61),
    SegmentSet("plain, 1 KiB", 32, 5, 945),
    SegmentSet("LZ4, 140 bytes", 32, 5, 61, "LZ4Compressor"),
    SegmentSet("Zstd, 140 bytes", 32, 5, 61, "ZstdCompressor"),
    SegmentSet("encrypted, 140 bytes", 32, 5, 61, encrypted=True),
)
QUICK = (
    SegmentSet("plain, 140 bytes", 4, 2, 61),
    SegmentSet("LZ4, 140 bytes", 4, 2, 61, "LZ4Compressor"),
    SegmentSet("encrypted, 140 bytes", 4, 2, 61, encrypted=True),
)
CPU = 1
BOTH_CPUS = (0, 1)
# On one core, a parallel collector has no benefit. With this heap, collections are rare.
_JVM_OPTIONS = ("-Xms1g", "-Xmn700m", "-XX:+UseSerialGC")
_JAVA_MODES: tuple[Literal["visit", "deserialise"], ...] = ("visit", "deserialise")
_NS_PER_S = 1e9


@dataclass(frozen=True)
class Rate:
    """Mutations per CPU second of the reading thread, and per elapsed second."""

    cpu: Spread
    wall: Spread


@dataclass(frozen=True)
class SetResult:
    """One set, by reader and mode. `cpu_ratios` and `wall_ratios` are multiples of the rate at
    which Cassandra's reader visits every cell, and `event_ratios` of its CPU rate when it discards
    the mutations. `two_cores` is the scan rate of two threads as a multiple of one thread's rate.
    `two_cores_digest`, for threads that only calculate, is its upper bound."""

    name: str
    mutations: int
    payload_bytes: int
    file_bytes: int
    rates: dict[str, Rate]
    cpu_ratios: dict[str, Spread]
    wall_ratios: dict[str, Spread]
    event_ratios: dict[str, Spread]
    two_cores: Spread
    two_cores_digest: Spread


def run(is_quick: bool) -> Result:
    warm_up, rounds = (2, 3) if is_quick else (12, 9)
    results = []
    for segment_set in QUICK if is_quick else FULL:
        segments = written(segment_set)
        with progress_bar(f"reading: {segment_set.name}", warm_up + rounds) as step:
            results.append(_measure(segments, warm_up, rounds, step))
    for result in results:
        _print(result)
    return {"sets": results}


def _measure(
    segments: WrittenSegments, warm_up: int, rounds: int, step: Callable[[], None]
) -> SetResult:
    cpu_ns: dict[str, list[int]] = {}
    wall_ns: dict[str, list[int]] = {}

    def note(name: str, cpu: int, wall: int) -> None:
        cpu_ns.setdefault(name, []).append(cpu)
        wall_ns.setdefault(name, []).append(wall)

    files = segments.segments
    payload_bytes = 0
    keystore = segments.keystore
    speed_ups: dict[Mode, list[float]] = {"scan": [], "digest": []}
    with (
        JavaBench(
            files, segments.schema, cpu=CPU, jvm_options=_JVM_OPTIONS, keystore=keystore
        ) as java,
        ReadingProcess(files, segments.schema, cpus=[CPU], keystore=keystore) as ours,
        ReadingProcess(files, segments.schema, cpus=BOTH_CPUS, keystore=keystore) as both,
    ):
        for number in range(warm_up + rounds):
            for java_mode in _JAVA_MODES:
                read = java.round(java_mode)
                if number >= warm_up:
                    note(f"Cassandra, {java_mode}", read.cpu_ns, read.wall_ns)
                if java_mode == "visit":
                    visited = read
            for mode in MODES:
                # One warm-up round is enough for our parser: it has no just-in-time compiler.
                if warm_up > number > 0:
                    continue
                made = ours.round(mode)
                if mode != "pread" and made.mutations != visited.mutations:
                    raise AssertionError(f"{made.mutations} of {visited.mutations} mutations")
                if mode == "scan" and (made.checksum, made.cells) != (
                    visited.checksum,
                    visited.cells,
                ):
                    raise AssertionError("the two readers saw different cells")
                if number >= warm_up:
                    note(mode, made.cpu_ns, made.wall_ns)
                if mode == "scan" and number >= warm_up:
                    for work, seen in speed_ups.items():
                        one = made if work == mode else ours.round(work)
                        seen.append(len(BOTH_CPUS) * one.wall_ns / both.round(work).wall_ns)
            payload_bytes = visited.payload_bytes
            step()

    def rates(name: str) -> Rate:
        per_ns = segments.mutations * _NS_PER_S
        cpu, wall = (
            Spread.of(per_ns / each for each in times[name]) for times in (cpu_ns, wall_ns)
        )
        return Rate(cpu, wall)

    def ratio(times: dict[str, list[int]], name: str, to: str = "Cassandra, visit") -> Spread:
        return Spread.of_ratios(times[to], times[name])

    return SetResult(
        name=segments.segment_set.name,
        mutations=segments.mutations,
        payload_bytes=payload_bytes,
        file_bytes=segments.file_bytes,
        rates={name: rates(name) for name in cpu_ns},
        cpu_ratios={name: ratio(cpu_ns, name) for name in cpu_ns},
        wall_ratios={name: ratio(wall_ns, name) for name in cpu_ns},
        event_ratios={name: ratio(cpu_ns, name, "Cassandra, deserialise") for name in cpu_ns},
        two_cores=Spread.of(speed_ups["scan"]),
        two_cores_digest=Spread.of(speed_ups["digest"]),
    )


def _print(result: SetResult) -> None:
    each_bytes = result.payload_bytes / result.mutations
    title = f"{result.name}: {result.mutations:,} mutations of {each_bytes:.0f} bytes"
    rates = result.rates
    print_table(
        title,
        rates,
        {
            "": lambda name: name,
            "thousand/CPU s": lambda name: rates[name].cpu.text(scale=1e3),
            "MB/CPU s": lambda name: f"{rates[name].cpu.median * each_bytes / 1e6:,.0f}",
            "thousand/s": lambda name: rates[name].wall.text(scale=1e3),
            "times visit, CPU": lambda name: result.cpu_ratios[name].text(1),
            "times visit, elapsed": lambda name: result.wall_ratios[name].text(1),
            "times deserialise, CPU": lambda name: result.event_ratios[name].text(1),
        },
    )
    print(f"two threads scan {result.two_cores.text(2)} times as much as one", end="")
    print(f", and calculate {result.two_cores_digest.text(2)} times as much")
