"""What `event.transform` costs an event: arguments of the Kafka client's call, made ready by the
extension, and made in Python after a function was called. One thread, CPU time, rounds by turns."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from benches.machine import machine
from benches.segments import SegmentSet, written
from benches.stats import Spread, print_table, write_result
from commitlog import EventBatch, EventFormat, Schema, SegmentReader
from sidecar.tracing import TRACEPARENT
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
    "gives the event back": nothing,
    "a header added, as by tracing": header_added(TRACEPARENT, b"00-" + b"0" * 52),
    "another topic": routed,
    "a column masked (orjson)": masked,
}


def run(is_quick: bool) -> None:
    at_start = machine()
    batches = _batches(2 if is_quick else 12)
    seen: dict[str, list[float]] = {name: [] for name in FUNCTIONS}
    for _ in range(2 if is_quick else 9):
        for name, function in FUNCTIONS.items():
            seen[name].append(_cpu_us_per_event(batches, function))
    figures = {name: Spread.of(values) for name, values in seen.items()}
    file = write_result("transform", at_start, is_quick, {"cpu_us_per_event": figures})
    print(at_start.sentence())
    rows = [(name, spread.text(2)) for name, spread in figures.items()]
    print_table("What a function costs", ("function", "CPU µs an event"), rows)
    print(file)


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
    """Send nothing."""
