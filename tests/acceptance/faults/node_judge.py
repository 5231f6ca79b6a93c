"""Events that Cassandra's own reader expects of segments, against the events that arrived."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import commitlog
from tests.acceptance.faults.recorded import plain
from tests.support.events.expected_events import expected_events
from tests.support.servers.java_reader import dump_segments

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Epoch:
    """Schema from one moment on, as CQL with table ids."""

    from_us: int
    text: str


@dataclass(frozen=True, slots=True)
class Arrived:
    """One line of the file sink."""

    content: str
    event_id: str
    source: str
    topic: str
    value: Json


def expected_contents(
    segments: Sequence[Path], epochs: Sequence[Epoch], folder: Path, *, by_time: bool = True
) -> dict[str, list[str]]:
    """Content of each event of a captured table, by segment name. Each mutation is read with the
    schema of its write time. Without `by_time`, the first schema that contains its table is used,
    for writes during the change."""
    found: dict[str, list[str]] = {path.name: [] for path in segments}
    if not segments:
        return found
    seen: set[tuple[str, int, int]] = set()
    for number, epoch in enumerate(epochs):
        # The first schema is also used for all earlier writes.
        from_us = epoch.from_us if by_time and number > 0 else 0
        is_bounded = by_time and number + 1 < len(epochs)
        until_us = epochs[number + 1].from_us if is_bounded else 1 << 63
        schema = folder / f"schema-{number}.cql"
        schema.write_text(epoch.text, encoding="utf-8")
        captured = {t.id for t in commitlog.Schema.from_cql(epoch.text).tables() if t.cdc}
        dumped = dump_segments(segments, schema, tolerate_truncation=True)
        for text in dumped.ndjson.splitlines():
            line = json.loads(text)
            place = (line["segment"], line["pos"], line["update"])
            if line["id"] not in captured or place in seen:
                continue
            events = [e for e in expected_events(line) if from_us <= e.timestamp_us < until_us]
            if events:
                seen.add(place)
            found[line["segment"]] += [_content(e.kind, e.op, e.cells) for e in events]
    return found


def arrivals(file: Path) -> list[Arrived]:
    """Complete lines of the sink's file."""
    if not file.exists():
        return []
    return list(_parsed(file.read_bytes().rpartition(b"\n")[0].splitlines()))


def arrival_of(topic: str, value: Json, *, kind: str, event_id: str, source: str) -> Arrived:
    """One event with its headers as text."""
    content = _content(kind, value["op"], value["cells"])
    return Arrived(content, event_id, source, topic, value)


def contradictions(arrived: Iterable[Arrived]) -> list[str]:
    """Events of one `cdc.id` with different contents, and the reverse."""
    by_id: dict[str, str] = {}
    by_content: dict[str, str] = {}
    found = []
    for each in arrived:
        if by_id.setdefault(each.event_id, each.content) != each.content:
            found.append(f"{each.source}: the id {each.event_id} has two contents")
        if by_content.setdefault(each.content, each.event_id) != each.event_id:
            found.append(f"{each.source}: one content has two ids")
    return found


def _parsed(lines: Iterable[bytes]) -> Iterator[Arrived]:
    for line in lines:
        event = json.loads(line)
        value, headers = event["value"], event["headers"]
        yield arrival_of(
            event["topic"],
            value,
            kind=headers["cdc.kind"],
            event_id=headers["cdc.id"],
            source=headers["cdc.source"],
        )


def _content(kind: str, op: str, cells: Json) -> str:
    """Event without its position, so a mutation that a replay logged again is equal."""
    return json.dumps([kind, op, plain(cells)], sort_keys=True)
