"""A simulated collection and the records that an agent sends."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.spark.records import Record

TOPIC = "L.shop.cust"


def record(offset: int, key: str | None, value: Any) -> Record:
    """Texts and documents as the bytes of a record."""
    return Record(
        None,
        key=None if key is None else json.dumps({"id": key}).encode(),
        value=None if value is None else json.dumps(value).encode(),
        topic=TOPIC,
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
    """A collection that records the events of an agent; `documents` is its content."""

    db: str = "shop"
    documents: dict[str, str] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    clock_ms: int = 1_700_000_000_000
    order: int = 0

    def tick(self, *, is_new_second: bool) -> None:
        """Advance to a later time, or to a larger number in the same second."""
        if is_new_second:
            self.clock_ms += 1000
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
            self.records.append(record(len(self.records), key, None))

    def transaction(self, key: str, documents: list[str]) -> None:
        """Several changes at one time."""
        for number, document in enumerate(documents, 1):
            op = "u" if key in self.documents else "c"
            self.documents[key] = document
            self._send(key, op, document, transaction={"id": "t", "total_order": number})

    def snapshot(self) -> None:
        """A snapshot of all documents at a time without a number."""
        for key, document in self.documents.items():
            value = envelope("r", document, self.clock_ms, ord=0, snapshot="true", db=self.db)
            self.records.append(record(len(self.records), key, value))

    def replay(self, start: int) -> None:
        """Send all events from an index again."""
        for each in self.records[start:]:
            self.records.append(replace(each, offset=len(self.records)))

    def _send(self, key: str, op: str, document: str | None, **members: Any) -> None:
        value = envelope(op, document, self.clock_ms, ord=self.order, db=self.db, **members)
        self.records.append(record(len(self.records), key, value))
