"""Measures the Rust merge in one thread: events and states to typed rows, states and changes.

The events come from real segments and contain one row of four cells each. The later events write
the same rows again. The baseline is `json.loads` of the same texts. Rates use CPU time of the
calling thread. Rounds are interleaved; the first is discarded.
"""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from benches.harness import Result, Spread, print_table, run_rounds
from benches.segments import SegmentSet, messages, written
from commitlog import Schema
from spark_jobs.merge import Merger

EVENTS, CELLS_PER_EVENT = 200_000, 4
BATCH_ROWS = 10_000
SEGMENTS = SegmentSet("plain, 140 bytes", segment_mib=32, count=2, value_bytes=61)
_NOW_S = 1_800_000_000
_TOKEN = re.compile(rb'"token":(-?[0-9]+)')
_TYPES = {"token": pa.int64(), "event": pa.string(), "state": pa.binary(), "is_new": pa.bool_()}
Batches = Sequence[pa.RecordBatch]


@dataclass(frozen=True)
class StepResult:
    """Input cells per CPU second. `of_json` is the rate as a multiple of the rate of
    `json.loads` in the same round."""

    name: str
    rate: Spread
    of_json: Spread


def run(is_quick: bool) -> Result:
    count, rounds = (5_000, 1) if is_quick else (EVENTS, 5)
    segments = written(SEGMENTS)
    merger = Merger(Schema.from_cql(segments.schema.read_text()), "bench", "events")
    found = []
    for _, _, value, _, _ in messages(segments.schema, segments.segments, "bench", "node"):
        cells = b'{"cells":' + value.split(b'"cells":', 1)[1]
        found.append((_token(cells), cells))
        if len(found) == count:
            break
    found.sort()
    later = [(token, _later(cells)) for token, cells in found]
    events, new = _batches(found, is_new=False), _batches(later, is_new=True)
    states = _states(merger, events)
    both = _sorted([*states, *new])
    steps: dict[str, tuple[Batches, Callable[[Batches], Iterable[object]]]] = {
        "json.loads": (events, _parsed),
        "events to typed rows": (events, lambda given: merger.typed(given, now_s=_NOW_S)),
        "events to states": (events, lambda given: merger.compact(given)),
        "states to typed rows": (states, lambda given: merger.typed(given, now_s=_NOW_S)),
        "states and events to changes": (
            both,
            lambda given: merger.changes(given, before_s=_NOW_S, after_s=_NOW_S, each=False),
        ),
    }

    def rate(name: str, _: int) -> float:
        given, step = steps[name]
        rows = sum(int(batch.num_rows) for batch in given)
        started_s = time.thread_time()
        for _output in step(given):
            pass
        return rows * CELLS_PER_EVENT / (time.thread_time() - started_s)

    rates = run_rounds("merge", tuple(steps), rate, rounds=rounds, warm_up=1)
    parsed = rates["json.loads"]
    results = [
        StepResult(name, Spread.of(each), Spread.of_ratios(each, parsed))
        for name, each in rates.items()
    ]
    print_table(
        f"{count:,} events of {CELLS_PER_EVENT} cells",
        results,
        {
            "": lambda each: each.name,
            "million cells/CPU s": lambda each: each.rate.text(2, 1e6),
            "of json.loads": lambda each: each.of_json.text(2),
        },
    )
    return {"events": count, "steps": results}


def _token(cells: bytes) -> int:
    match = _TOKEN.search(cells)
    assert match is not None
    return int(match[1])


def _later(cells: bytes) -> bytes:
    """Return the event with a later write time and a different integer."""
    return cells.replace(b'"ts":17', b'"ts":18').replace(b'"val":"A', b'"val":"B', 1)


def _batches(events: Sequence[tuple[int, bytes]], *, is_new: bool) -> list[pa.RecordBatch]:
    columns = {
        "token": [token for token, _ in events],
        "event": [cells.decode() for _, cells in events],
        "state": [None] * len(events),
        "is_new": [is_new] * len(events),
    }
    return _cut(pa.table(columns, schema=pa.schema(_TYPES)))


def _states(merger: Merger, events: Batches) -> list[pa.RecordBatch]:
    """Compact the events into states."""
    table = pa.Table.from_batches(merger.compact(events)).filter(pc.field("ck").is_valid())
    size = table.num_rows
    columns = {
        "token": table["token"],
        "event": pa.nulls(size, pa.string()),
        "state": table["state"],
        "is_new": pa.repeat(False, size),
    }
    return _cut(pa.table(columns, schema=pa.schema(_TYPES)))


def _sorted(batches: Batches) -> list[pa.RecordBatch]:
    return _cut(pa.Table.from_batches(batches).sort_by("token"))


def _cut(table: pa.Table) -> list[pa.RecordBatch]:
    return list(table.combine_chunks().to_batches(max_chunksize=BATCH_ROWS))


def _parsed(batches: Batches) -> Iterator[object]:
    for batch in batches:
        for text in batch["event"].to_pylist():
            yield json.loads(text)
