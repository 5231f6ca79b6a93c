"""Measures the cost of `event.transform` per event: the extension prepares the arguments for the
Kafka client, or Python does so after calling a function. CPU time of one thread.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from benches.harness import Result, Spread, print_table, run_rounds
from benches.segments import SegmentSet, written
from commitlog import EventBatch, EventFormat, Schema, SegmentReader
from sidecar.tracing.open_telemetry import TRACEPARENT
from sidecar.transform import Event, TransformedBatch, header_added

SEGMENTS = SegmentSet("plain, 140 bytes", 32, 2, 61)
_CHUNK_EVENTS = 250
_BATCH_EVENTS = 5000


def nothing(event: Event) -> Event:
    return event


def routed(event: Event) -> Event:
    return event._replace(topic=f"{event.topic}.eu")


def masked(event: Event) -> Event:
    """Change one column by decoding and encoding the value."""
    document = orjson.loads(event.value or b"null")
    document["after"]["note"] = None
    return event._replace(value=orjson.dumps(document))


FUNCTIONS: Mapping[str, Callable[[Event], Event] | None] = {
    "none": None,
    "returns the event": nothing,
    "a header added, as by tracing": header_added(TRACEPARENT, b"00-" + b"0" * 52),
    "another topic": routed,
    "a column masked (orjson)": masked,
}


def run(is_quick: bool) -> Result:
    batches = _batches(2 if is_quick else 12)
    seen = run_rounds(
        "transforming",
        tuple(FUNCTIONS),
        lambda name, _: _cpu_us_per_event(batches, FUNCTIONS[name]),
        rounds=2 if is_quick else 9,
    )
    spreads = {name: Spread.of(values) for name, values in seen.items()}
    print_table(
        "Cost of a function",
        spreads,
        {
            "function": lambda name: name,
            "CPU µs an event": lambda name: spreads[name].text(2),
        },
    )
    return {"cpu_us_per_event": spreads}


def _batches(count: int) -> Sequence[EventBatch]:
    segments = written(SEGMENTS)
    schema = Schema.from_cql(segments.schema.read_text())
    event_format = EventFormat(topic_prefix="bench", cluster="bench", node_id="bench", cells=False)
    reader = SegmentReader(str(segments.segments[0]))
    return [
        reader.read(schema, event_format, complete=True, max_events=_BATCH_EVENTS)
        for _ in range(count)
    ]


def _cpu_us_per_event(
    batches: Sequence[EventBatch], function: Callable[[Event], Event] | None
) -> float:
    before_ns = time.thread_time_ns()
    for batch in batches:
        sent: Any = batch if function is None else TransformedBatch(batch, function)
        for first in range(0, len(batch), _CHUNK_EVENTS):
            stop = min(len(batch), first + _CHUNK_EVENTS)
            sent.produce_arguments(first, stop, _three, _delivered)
    events = sum(map(len, batches))
    return (time.thread_time_ns() - before_ns) / events / 1000


def _three(topic: str) -> int:
    return 3


def _delivered(*_: object) -> None:
    """Ignore the delivery report."""
