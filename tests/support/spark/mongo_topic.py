"""A simulated collection and the records that an agent sends."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from tests.support.spark.records import Record, headers_of

TOPIC = "L.shop.cust"


def record(
    offset: int,
    key: str | None,
    value: Any,
    *,
    time: tuple[int, int] | None = None,
    partition: int = 0,
) -> Record:
    """Texts and documents as the bytes of a record; with a cluster time of an agent."""
    headers = None
    if time is not None:
        seconds, increment = time
        origin = f"node/with/slashes/rs0/{seconds}.{increment}/{int(value is None)}"
        headers = headers_of(bytes(16))
        headers = (headers[0], ("cdc.source", origin.encode()), *headers[2:])
    return Record(
        headers,
        key=None if key is None else json.dumps({"id": key}).encode(),
        value=None if value is None else json.dumps(value).encode(),
        topic=TOPIC,
        partition=partition,
        offset=offset,
    )


def envelope(op: str, after: str | None, ms: int, **members: Any) -> dict[str, Any]:
    """The value of an event; `ord`, `snapshot` and `db` are members of its source."""
    source = {
        "version": "2.1.2.Final",
        "connector": "mongodb",
        "name": "L",
        "ts_ms": ms,
        "snapshot": members.pop("snapshot", "false"),
        "db": members.pop("db", "shop"),
        "rs": "rs0",
        "collection": "cust",
        "ord": members.pop("ord", 1),
    }
    return {"after": after, "source": source, "op": op, "ts_ms": ms + 5, **members}


@dataclass
class Collection:
    """A collection that records the events of its oplog; `documents` is its content.

    `seconds` and `order` are the cluster time, which only advances. `ahead_ms` is how far the clock
    of the primary is ahead of it. `is_agent`: the events are those of `mongo-agent`, else those of
    Debezium, without a cluster time. `partition` chooses the partition of a record by its key.
    """

    db: str = "shop"
    documents: dict[str, str] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    seconds: int = 1_700_000_000
    order: int = 0
    ahead_ms: int = 0
    is_agent: bool = True
    partition: Callable[[str], int] = lambda _: 0

    def tick(self, *, is_new_second: bool) -> None:
        """Advance to a later time, or to a larger number in the same second."""
        if is_new_second:
            self.seconds += 1
            self.order = 0
        self.order += 1

    def write(self, key: str, document: str) -> None:
        op = "u" if key in self.documents else "c"
        self.documents[key] = document
        self._send(key, op, document)

    def delete(self, key: str, *, has_tombstone: bool) -> None:
        if self.documents.pop(key, None) is None:
            return
        self._send(key, "d", None)
        if has_tombstone:
            self._append(key, None)

    def transaction(self, key: str, documents: list[str]) -> None:
        """Several changes at one time."""
        for number, document in enumerate(documents, 1):
            op = "u" if key in self.documents else "c"
            self.documents[key] = document
            self._send(key, op, document, transaction={"id": "t", "total_order": number})

    def snapshot(self) -> None:
        """A snapshot of all documents."""
        for key, document in self.documents.items():
            self._send(key, "r", document, snapshot="true")

    def replay(self, start: int) -> None:
        """Send all events from an index again."""
        for each in self.records[start:]:
            self.records.append(replace(each, offset=len(self.records)))

    def _send(self, key: str, op: str, document: str | None, **members: Any) -> None:
        wall_ms = self.seconds * 1000 + self.ahead_ms
        value = envelope(op, document, wall_ms, ord=self.order, db=self.db, **members)
        self._append(key, value)

    def _append(self, key: str, value: Any) -> None:
        time = (self.seconds, self.order) if self.is_agent else None
        where = self.partition(key)
        self.records.append(record(len(self.records), key, value, time=time, partition=where))


IDS = ("7", '"a"', '{"$oid": "596e275826f08b2730779e1f"}')
STEPS = ("write", "write", "write", "delete", "transaction", "replay", "snapshot", "election")
WRITERS = ("agent", "debezium", "debezium, then agent")
MOST_STEPS = 14
MOST_AHEAD_MS = 3_600_000


def history(random: Random, db: str) -> Collection:
    """Writes before the start of the writer are only in the snapshot.

    An agent's events are in any partition; without a cluster time a document has one partition.
    """
    writer = random.choice(WRITERS)
    is_scattered = writer == "agent" and random.random() < 0.5
    collection = Collection(
        db,
        is_agent=writer == "agent",
        partition=lambda key: random.randrange(3) if is_scattered else len(key) % 3,
    )
    for key in random.sample(IDS, random.randint(0, len(IDS))):
        collection.write(key, f'{{"_id": {key}, "old": true}}')
    collection.records.clear()
    steps = random.choices(STEPS, k=random.randint(0, MOST_STEPS))
    place = random.randint(0, len(steps))
    first = 0
    for number, step in enumerate([*steps[:place], "snapshot", *steps[place:]]):
        if number == place and writer == "debezium, then agent":
            collection.is_agent, first = True, len(collection.records)
        collection.tick(is_new_second=random.random() < 0.5)
        key = random.choice(IDS)
        document = f'{{"_id": {key}, "n": {number}}}'
        match step:
            case "write":
                collection.write(key, document)
            case "delete":
                collection.delete(key, has_tombstone=random.random() < 0.5)
            case "transaction":
                collection.transaction(key, [document, f"{document[:-1]}, 'last': true}}"])
            case "snapshot":
                collection.snapshot()
            case "replay":
                # A writer repeats only its own events.
                collection.replay(random.randint(first, len(collection.records)))
            case "election":
                collection.ahead_ms = random.randint(-MOST_AHEAD_MS, MOST_AHEAD_MS)
    return collection


def drawn_histories(count: int, seed: int) -> list[Collection]:
    """Histories in databases of their own, so that one Spark job reads all of them."""
    random = Random(seed)
    return [history(random, f"db{number}") for number in range(count)]
