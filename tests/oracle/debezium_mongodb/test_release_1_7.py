"""Records of the layout `debezium-1.x` equal those of Debezium 1.7, which read the oplog.

The tests' server has no oplog of documents, so the release's own classes get constructed entries,
and the agent the change events of the same changes. Both have the format of MongoDB 4.4, without
`wallTime`. `$set` comes first in these patches; a server keeps the order of the update. Two
differences remain: the UUID in `stxnid`, which the release hashes, and code with a scope in a key,
on which it fails.
"""

import hashlib
import json
import re
import subprocess
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest
from bson import Binary, Code, Int64, Timestamp

from tests.oracle.debezium_mongodb import values
from tests.oracle.debezium_mongodb.engines import PeerRecord, jars
from tests.oracle.debezium_mongodb.ours import records
from tests.support.mongodb.bson_documents import Json, encoded
from tests.support.mongodb.encodings import copied, encoder
from tests.support.seeds import draw_seed
from tests.support.servers.java import java
from tests.support.servers.java_sources import compiled

pytestmark = [pytest.mark.servers, pytest.mark.slow]

VERSION = "1.7.2.Final"
_SOURCES = [Path(__file__).parent / "java" / "OplogRecords.java"]
_JAVA = 21
_BARE_NUMBER = re.compile(r'\{"\$numberDouble": "(NaN|-?Infinity)"\}')
_CASES = 1000

Kind = Literal["insert", "update", "replace", "delete", "read"]


@dataclass(frozen=True)
class Change:
    """Change of a document, or a copy. `number` counts from 1 in a transaction, else 0."""

    kind: Kind
    time: Timestamp
    key: Json
    document: Json
    updated: Json
    removed: tuple[str, ...]
    session: uuid.UUID | None = None
    number: int = 0

    @property
    def transaction(self) -> Json:
        if self.session is None:
            return {}
        return {"lsid": {"id": Binary.from_uuid(self.session)}, "txnNumber": Int64(3)}

    @property
    def entry(self) -> Json:
        """The change in the oplog of MongoDB 4.4."""
        names = {"insert": "i", "update": "u", "replace": "u", "delete": "d", "read": ""}
        entry: Json = {"op": names[self.kind], "ns": "shop.cust", "ts": self.time, "v": Int64(2)}
        match self.kind:
            case "update":
                patch: Json = {"$v": 1}
                if self.updated:
                    patch["$set"] = self.updated
                if self.removed:
                    patch["$unset"] = dict.fromkeys(self.removed, True)
                return {**entry, "o2": self.key, "o": patch}
            case "replace":
                return {**entry, "o2": self.key, "o": self.document}
            case "delete":
                return {**entry, "o": self.key}
        return {**entry, "o": self.document}

    @property
    def event(self) -> bytes:
        """The change in a change stream."""
        index = f"2B{2 * (self.number - 1):02X}" if self.number > 1 else "29"
        time = f"{self.time.time:08X}{self.time.inc:08X}"
        event: Json = {
            "_id": {"_data": f"82{time}2B022C0100{index}6E5A1004"},
            "operationType": self.kind,
            "clusterTime": self.time,
            "ns": {"db": "shop", "coll": "cust"},
            "documentKey": self.key,
            **self.transaction,
        }
        if self.kind in ("insert", "replace"):
            event["fullDocument"] = self.document
        if self.kind == "update":
            event["updateDescription"] = {
                "updatedFields": self.updated,
                "removedFields": list(self.removed),
            }
        return encoded(event)

    @property
    def line(self) -> str:
        if self.kind == "read":
            return f"r\t0\t{encoded(self.document).hex()}\t"
        master = {**self.entry, **self.transaction}
        return f"o\t{self.number}\t{encoded(self.entry).hex()}\t{encoded(master).hex()}"


def random_changes(random: Random, count: int) -> list[Change]:
    found: list[Change] = []
    while len(found) < count:
        time = Timestamp(1_600_000_000 + len(found), random.randint(1, 9))
        session = uuid.UUID(int=random.getrandbits(128)) if random.random() < 0.2 else None
        for number in range(1, random.randint(2, 4) if session else 2):
            kinds: Sequence[Kind] = ("insert", "update", "replace", "delete", "read")
            kind = random.choice(kinds[: 4 if session else 5])
            key = {"_id": values.key(random)}
            updated = values.document(random)
            removed = {values.field_name(random) for _ in range(random.randint(0, 3))}
            found.append(
                Change(
                    kind,
                    time,
                    key,
                    {**key, **values.document(random)},
                    updated,
                    tuple(removed - updated.keys()),
                    session,
                    number if session else 0,
                )
            )
    # Copied documents come first, as from a snapshot at the start.
    return sorted(found, key=lambda change: change.kind != "read")


def has_scope(key: Any) -> bool:
    if isinstance(key, Code):
        return key.scope is not None
    return isinstance(key, dict) and any(map(has_scope, key.values()))


def theirs(changes: Sequence[Change]) -> list[PeerRecord | None]:
    """Record of each change; None if the release fails."""
    folder = jars(VERSION)
    classes = compiled(_SOURCES, folder, release=17)
    program = "io.debezium.connector.mongodb.OplogRecords"
    done = subprocess.run(
        [str(java(_JAVA)), "-cp", f"{classes}:{folder}/*", program],
        input="".join(f"{change.line}\n" for change in changes).encode(),
        check=True,
        capture_output=True,
    )
    lines = (line.split("\t") for line in done.stdout.decode().removesuffix("\n").split("\n"))
    return [
        None if operation == "!" else PeerRecord(topic, key.encode(), value.encode())
        for operation, topic, key, value in lines
    ]


def ours(change: Change) -> list[PeerRecord]:
    making = encoder("debezium-1.x")
    if change.kind != "read":
        return records(making.encode([change.event]))
    return records(copied(making, change.document))


def test_records_equal_those_of_debezium_1_7() -> None:
    seed = draw_seed()
    changes = random_changes(Random(seed), _CASES)
    for change, their in zip(changes, theirs(changes), strict=True):
        our, *tombstone = ours(change)
        if their is None:
            assert has_scope(change.key)
            continue
        assert comparable(our, change.session) == comparable(their), change
        # The release's dispatcher adds the tombstone, with the key of the record.
        assert [(each.key, each.value) for each in tombstone] == (
            [(our.key, None)] if change.kind == "delete" else []
        )


def comparable(
    record: PeerRecord, session: uuid.UUID | None = None
) -> tuple[str, bytes | None, Json]:
    """Without the version and the sender's clock; `session` as the release writes it."""
    value: Json = json.loads(record.value or b"")
    del value["ts_ms"], value["source"]["version"]
    if session is not None:
        named = uuid.UUID(bytes=hashlib.md5(session.bytes).digest(), version=3)
        text = value["source"]["stxnid"]
        value["source"]["stxnid"] = text.replace(str(session), str(named))
    if value["op"] == "r":
        for name in ("ts_ms", "ord", "snapshot"):
            del value["source"][name]
    for name in ("after", "patch", "filter"):
        if value[name] is not None:
            # Its text of these values is not JSON.
            value[name] = _BARE_NUMBER.sub(r"\1", value[name])
    return record.topic, record.key, value
