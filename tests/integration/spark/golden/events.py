"""Compares topics and rows of dedupe with the events of Cassandra's reader.

Pure functions; each yields one line per fault.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from tests.integration.spark.golden.logged_events import LoggedEvent, Place, cells_of_event
from tests.support.servers.kafka import KafkaRecord


@dataclass(frozen=True, slots=True)
class Published:
    """One record of a topic; `at` is topic, partition and offset."""

    at: tuple[str, int, int]
    place: Place
    event_id: bytes
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class DedupedRow:
    """One row of the table of dedupe."""

    at: tuple[str, int, int]
    event_id: bytes
    key: bytes | None
    value: bytes | None


def published(record: KafkaRecord) -> Published:
    """A record from its consumed form."""
    headers = dict(record.headers)
    node, segment_id, position, index = headers["cdc.source"].decode().rsplit("/", 3)
    return Published(
        (record.topic, record.partition, record.offset),
        Place(node, int(segment_id), int(position), int(index)),
        headers["cdc.id"],
        record.key,
        record.value,
    )


def wrong_records(records: Sequence[Published], logs: Mapping[Place, LoggedEvent]) -> Iterator[str]:
    """Topics must contain exactly the events of the logs, with equal content."""
    sent = {record.place for record in records}
    yield from (f"{place} is in a log and in no topic" for place in sorted(logs.keys() - sent))
    yield from (f"{place} is in a topic and in no log" for place in sorted(sent - logs.keys()))
    for record in records:
        event = logs.get(record.place)
        if event is None:
            continue
        value = orjson.loads(record.value or b"null")
        said = value["op"], value["source"]["ts_us"], cells_of_event(value)
        if said != (event.op, event.ts_us, event.cells):
            yield f"{record.place} says {said}, and Cassandra {event}"


def wrong_ids(records: Iterable[Published], logs: Mapping[Place, LoggedEvent]) -> Iterator[str]:
    """Each canonical event must have one id, and each id one canonical event."""
    contents: defaultdict[bytes, set[Hashable]] = defaultdict(set)
    ids: defaultdict[Hashable, set[bytes]] = defaultdict(set)
    for record in records:
        if record.place in logs:
            canonical = logs[record.place].canonical
            contents[record.event_id].add(canonical)
            ids[canonical].add(record.event_id)
    for event_id, found in contents.items():
        if len(found) > 1:
            yield f"id {event_id.hex()} stands for {len(found)} events: {found}"
    for canonical, named in ids.items():
        if len(named) > 1:
            yield f"{len(named)} ids stand for the event {canonical}"


def wrong_rows(
    rows: Sequence[DedupedRow], records: Iterable[Published], logs: Mapping[Place, LoggedEvent]
) -> Iterator[str]:
    """Rows must be the distinct canonical events of all logs, each once, equal to one record."""
    by_place = {record.at: record for record in records}
    seen: Counter[Hashable] = Counter()
    for row in rows:
        record = by_place.get(row.at)
        if record is None:
            yield f"{row.at} is a row and no record"
            continue
        if (row.event_id, row.key, row.value) != (record.event_id, record.key, record.value):
            yield f"{row.at} was changed on its way"
        if record.place in logs:
            seen[logs[record.place].canonical] += 1
    for canonical, count in seen.items():
        if count > 1:
            yield f"{count} rows are of the event {canonical}"
    for canonical in {event.canonical for event in logs.values()} - seen.keys():
        yield f"no row is of the event {canonical}"


def wrong_deduped_cells(rows: Sequence[DedupedRow], records: Iterable[Published]) -> Iterator[str]:
    """With `identity=cell`, rows must contain every cell of all records, and no event twice."""
    sent = {record.at: record for record in records}
    for row in rows:
        record = sent.get(row.at)
        if record is None or (row.key, row.value) != (record.key, record.value):
            yield f"{row.at} is no record as it was sent"
    for event_id, count in Counter(row.event_id for row in rows).items():
        if count > 1:
            yield f"{count} rows are of the event {event_id.hex()}"
    missing = distinct_cells(sent.values()) - distinct_cells(rows)
    yield from (f"no row has the cell {cell}" for cell in missing)


def distinct_cells(records: Iterable[Published] | Iterable[DedupedRow]) -> set[Hashable]:
    """Cells, livenesses and deletions with their places, without local deletion times."""
    return {
        cell for record in records if record.value is not None for cell in _cells_of(record.value)
    }


def _cells_of(value: bytes) -> Iterator[Hashable]:
    cells = orjson.loads(value)["cells"]
    place = tuple(cells.get(name) for name in ("kind", "id", "pk", "ck", "lo", "hi"))
    if "live" in cells:
        yield *place, "live", cells["live"]["ts"], cells["live"].get("ttl")
    if "del" in cells:
        yield *place, "del", cells["del"]["ts"]
    for each in cells.get("cdel", ()):
        yield *place, "cdel", each["col"], each["ts"]
    for each in cells.get("cell", ()):
        what = each["col"], each.get("path"), each["ts"], each.get("ttl"), each["val"]
        yield *place, "cell", *what


def events_by_log_count(logs: Mapping[Place, LoggedEvent]) -> Counter[int]:
    """Number of canonical events by the number of logs that contain them."""
    nodes: defaultdict[Hashable, set[str]] = defaultdict(set)
    for place, event in logs.items():
        nodes[event.canonical].add(place.node)
    return Counter(len(found) for found in nodes.values())
