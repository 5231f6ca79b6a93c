"""Events as Avro, and as JSON with its schema, beside events as JSON: the same segments, in turns,
by CPU time of one core.

A ratio compares two rounds that followed each other.
"""

from dataclasses import dataclass

from benches.machine import machine
from benches.progress import progress_bar
from benches.reader_process import Mode, ReadingProcess
from benches.segments import SegmentSet, written
from benches.stats import Spread, print_table, write_result

FULL = (
    SegmentSet("plain, 140 bytes", 32, 5, 61),
    SegmentSet("plain, 1 KiB", 32, 5, 945),
)
QUICK = (SegmentSet("plain, 140 bytes", 4, 2, 61),)
CPU = 1
_PLAIN: Mode = "events"
_OTHERS: dict[Mode, str] = {"events-avro": "Avro", "events-with-schemas": "JSON with its schema"}
_MODES: tuple[Mode, ...] = (_PLAIN, *_OTHERS)
_NS_PER_S = 1e9


@dataclass(frozen=True)
class SetResult:
    """Mutations per CPU second, and bytes of keys and values a mutation, by mode; `ratios`: how
    many times as fast as JSON the others are."""

    name: str
    mutations: int
    rates: dict[str, Spread]
    out_bytes: dict[str, float]
    ratios: dict[str, Spread]


def run(is_quick: bool) -> None:
    warm_up, rounds = (1, 3) if is_quick else (2, 9)
    at_start = machine()
    results = []
    for segment_set in QUICK if is_quick else FULL:
        with progress_bar(f"writing segments: {segment_set.name}"):
            segments = written(segment_set)
        times: dict[str, list[int]] = {mode: [] for mode in _MODES}
        out_bytes: dict[str, float] = {}
        title = f"encoding: {segment_set.name}"
        with (
            progress_bar(title, warm_up + rounds) as step,
            ReadingProcess(segments.segments, segments.schema, cpus=[CPU]) as reading,
        ):
            for number in range(warm_up + rounds):
                for mode in _MODES:
                    made = reading.round(mode)
                    out_bytes[mode] = made.out_bytes / made.mutations
                    if number >= warm_up:
                        times[mode].append(made.cpu_ns)
                step()
        results.append(
            SetResult(
                segment_set.name,
                segments.mutations,
                {
                    mode: Spread.of([segments.mutations * _NS_PER_S / each for each in times[mode]])
                    for mode in _MODES
                },
                out_bytes,
                {
                    mode: Spread.of(
                        [one / two for one, two in zip(times[_PLAIN], times[mode], strict=True)]
                    )
                    for mode in _OTHERS
                },
            )
        )
    file = write_result("avro", at_start, is_quick, {"sets": results})
    print(at_start.sentence())
    for result in results:
        rows = [
            (mode, result.rates[mode].text(scale=1e3), f"{result.out_bytes[mode]:,.0f}")
            for mode in _MODES
        ]
        title = f"{result.name}: {result.mutations:,} mutations"
        print_table(title, ("", "thousand/CPU s", "bytes an event"), rows)
        for mode, name in _OTHERS.items():
            print(f"{name} is {result.ratios[mode].text(2)} times as fast")
    print(f"{file}")
