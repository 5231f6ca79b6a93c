"""Compares Avro, Protobuf and JSON with a schema to plain JSON: the same segments, interleaved
rounds, CPU time of one core.
"""

from dataclasses import dataclass

from benches.harness import Result, Spread, print_table, run_rounds
from benches.reader_process import Mode, ReadingProcess
from benches.segments import SegmentSet, WrittenSegments, written

FULL = (
    SegmentSet("plain, 140 bytes", 32, 5, 61),
    SegmentSet("plain, 1 KiB", 32, 5, 945),
)
QUICK = (SegmentSet("plain, 140 bytes", 4, 2, 61),)
CPU = 1
_PLAIN: Mode = "events"
_OTHERS: dict[Mode, str] = {
    "events-avro": "Avro",
    "events-protobuf": "Protobuf",
    "events-with-schemas": "JSON with its schema",
}
_MODES: tuple[Mode, ...] = (_PLAIN, *_OTHERS)


@dataclass(frozen=True)
class SetResult:
    """By mode: mutations per CPU second, bytes of key and value per mutation, and the rate as a
    multiple of plain JSON's (`ratios`)."""

    name: str
    mutations: int
    rates: dict[Mode, Spread]
    out_bytes: dict[Mode, float]
    ratios: dict[Mode, Spread]


def run(is_quick: bool) -> Result:
    warm_up, rounds = (1, 3) if is_quick else (2, 9)
    results = [_measure(written(each), warm_up, rounds) for each in (QUICK if is_quick else FULL)]
    for result in results:
        _print(result)
    return {"sets": results}


def _measure(segments: WrittenSegments, warm_up: int, rounds: int) -> SetResult:
    name = segments.segment_set.name
    with ReadingProcess(segments.segments, segments.schema, cpus=[CPU]) as reading:
        seen = run_rounds(
            f"encoding: {name}",
            _MODES,
            lambda mode, _: reading.round(mode),
            rounds=rounds,
            warm_up=warm_up,
        )
    cpu_s = {mode: [each.cpu_ns / 1e9 for each in made] for mode, made in seen.items()}
    return SetResult(
        name,
        segments.mutations,
        {mode: Spread.of(segments.mutations / each for each in cpu_s[mode]) for mode in _MODES},
        {mode: made[0].out_bytes / made[0].mutations for mode, made in seen.items()},
        {mode: Spread.of_ratios(cpu_s[_PLAIN], cpu_s[mode]) for mode in _OTHERS},
    )


def _print(result: SetResult) -> None:
    print_table(
        f"{result.name}: {result.mutations:,} mutations",
        _MODES,
        {
            "": lambda mode: mode,
            "thousand/CPU s": lambda mode: result.rates[mode].text(scale=1e3),
            "bytes an event": lambda mode: f"{result.out_bytes[mode]:,.0f}",
        },
    )
    for mode, name in _OTHERS.items():
        print(f"{name} is {result.ratios[mode].text(2)} times as fast")
