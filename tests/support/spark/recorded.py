"""Events of recorded segments, three replica copies of each, shuffled."""

import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import orjson

import commitlog
from tests.oracle.algebra import Tables
from tests.oracle.reference.recordings import OWN, Scenario
from tests.support.segments.segment_reading import Event, events, schema_of, unpacked
from tests.support.spark.records import Record

SEED = 41
NODES = ("node1", "node2", "node3")


def read(folder: str, node: str) -> list[Event]:
    """All events of a recording, as the agent of `node` publishes them."""
    scenario = Scenario(OWN, OWN / folder)
    schema = schema_of(scenario)
    form = commitlog.EventFormat(topic_prefix="shop", cluster="c1", node_id=node)
    with tempfile.TemporaryDirectory() as place:
        return [
            event
            for path, name in scenario.segments()
            for event in events(unpacked(path, name, Path(place)), schema, form)
        ]


def record(event: Event, topic: str | None = None) -> Record:
    """The event as a message of an agent, without a place in Kafka."""
    headers = tuple(
        (name, bytes.fromhex(text) if name == "cdc.id" else text.encode())
        for name, text in event.headers.items()
    )
    value, key = (json.dumps(part, separators=(",", ":")) for part in (event.value, event.key))
    return Record(headers, value.encode(), key.encode(), topic or event.topic)


def three_copies(folders: Iterable[str], topic: str | None = None) -> list[Record]:
    """Every recording once from each node, in one random order.

    `5.0/three-nodes` is a recording of three replicas; others are read three times.
    """
    found = [
        record(event, topic)
        for folder in folders
        for node in NODES
        for event in read(f"{folder}/{node}" if folder.endswith("-nodes") else folder, node)
    ]
    random.Random(SEED).shuffle(found)
    return found


def identity(record: Record) -> tuple[bytes, bool]:
    """The identity of an event."""
    assert record.headers is not None
    event_id = dict(record.headers)["cdc.id"]
    assert event_id is not None
    return event_id, record.value is None


def of_busiest_tables(records: Sequence[Record], count: int) -> list[Record]:
    """The events of the tables with most of them."""
    busiest = Counter(map(table_of, records)).most_common(count)
    kept = {table_id for table_id, _ in busiest}
    return [record for record in records if table_of(record) in kept]


def table_of(record: Record) -> str:
    """The id of the event's table."""
    return str(orjson.loads(record.value or b"")["cells"]["id"])


def algebra_of(records: Iterable[Record]) -> Tables:
    """The merge of the events in plain Python."""
    tables = Tables()
    for record in records:
        tables.apply(orjson.loads(record.value or b""))
    return tables
