"""What a real cluster does to events besides copying them: which of it is a new event.

Made of recorded events: first they as they are, then what retries, repairs and expiry add.
"""

import copy
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any

import pytest

from tests.support.events.cells_checks import identity as content
from tests.support.segments.segment_reading import Event
from tests.support.spark.dedupe_stream import DedupeStream
from tests.support.spark.recorded import NODES, read, record
from tests.support.spark.records import Record
from tests.unit.commitlog.merge import test_cluster_cases as cases

RECORDINGS = ("5.0/ttl", "5.0/deletions", "5.0/collections")
EventValue = dict[str, Any]


def list_attempts(values: list[EventValue]) -> Iterator[EventValue]:
    """A coordinator that retries creates new ids for the elements of a list."""
    for value in copy.deepcopy(values):
        elements = [each for each in value["cells"].get("cell", ()) if _is_time_uuid(each)]
        for cell in elements:
            cell["path"] = b64encode(bytes(8) + b64decode(cell["path"])[8:]).decode()
        if elements:
            yield value


def later_attempts(values: list[EventValue]) -> Iterator[EventValue]:
    """A coordinator that sets the write time sets another one when it retries."""
    for value in copy.deepcopy(values):
        cells = value["cells"]
        times = [
            cells.get("live"),
            cells.get("del"),
            *cells.get("cell", ()),
            *cells.get("cdel", ()),
        ]
        for member in filter(None, times):
            member["ts"] += 2_000_000
        yield value


def _is_time_uuid(cell: EventValue) -> bool:
    path = b64decode(cell.get("path", ""))
    return len(path) == 16 and path[6] >> 4 == 1


Case = Callable[[list[EventValue]], Iterable[EventValue]]
DROPPED_BY_BOTH: tuple[Case, ...] = (cases.one_copy, cases.seven_copies, cases.attempts)
DROPPED_BY_CELL: tuple[Case, ...] = (cases.bundles,)
DROPPED_BY_NONE: tuple[Case, ...] = (
    cases.range_pieces,
    cases.expired_as_tombstones,
    list_attempts,
    later_attempts,
)


@pytest.fixture(scope="module")
def events() -> list[Event]:
    """Events of some tables from one node."""
    return [event for folder in RECORDINGS for event in read(folder, NODES[0])]


def said_again(events: list[Event], of: Iterable[Case]) -> list[Record]:
    """The events that the cases add, with the ids of their contents."""
    ids = {_content(event.value): event.headers["cdc.id"] for event in events}
    values = [event.value for event in events]
    pattern = events[0]
    found = []
    for value in (value for case in of for value in case(values)):
        new_id = blake2b(_content(value).encode(), digest_size=16).hexdigest()
        headers = {**pattern.headers, "cdc.id": ids.get(_content(value), new_id)}
        found.append(record(Event(pattern.topic, pattern.key, value, headers)))
    return found


def _content(value: EventValue) -> str:
    """As an event id sees it. A piece of a range has other bounds, which are not put into words
    here."""
    cells = value["cells"]
    event = Event("", {}, value, {})
    return content(event) + json.dumps([cells.get("lo"), cells.get("hi")])


def new_events(stream: DedupeStream, events: list[Event], of: Iterable[Case]) -> set[bytes]:
    """Ids of the written events that are not recorded ones."""
    stream.add(*map(record, events))
    stream.add(*said_again(events, of))
    stream.run()
    ids = stream.ids()
    assert len(set(ids)) == len(ids)
    recorded = {bytes.fromhex(event.headers["cdc.id"]) for event in events}
    assert recorded <= set(ids)
    return set(ids) - recorded


def ids_of(records: Iterable[Record]) -> set[bytes]:
    return {dict(each.headers or ())["cdc.id"] or b"" for each in records}


def test_by_event(stream: DedupeStream, events: list[Event]) -> None:
    changed = (*DROPPED_BY_CELL, *DROPPED_BY_NONE)
    found = new_events(stream, events, (*DROPPED_BY_BOTH, *changed))
    recorded = {bytes.fromhex(event.headers["cdc.id"]) for event in events}
    assert found == ids_of(said_again(events, changed)) - recorded
    for case in changed:
        assert found & ids_of(said_again(events, [case])), case


def test_by_cell(stream: DedupeStream, events: list[Event]) -> None:
    stream.settings = {"identity": "cell"}
    found = new_events(stream, events, (*DROPPED_BY_BOTH, *DROPPED_BY_CELL, *DROPPED_BY_NONE))
    recorded = {bytes.fromhex(event.headers["cdc.id"]) for event in events}
    possible = ids_of(said_again(events, DROPPED_BY_NONE)) - recorded
    assert found <= possible
    for case in DROPPED_BY_NONE:
        assert found & ids_of(said_again(events, [case])), case
