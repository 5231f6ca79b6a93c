"""First inputs for the guided fuzzer, made of recordings, and of what pymongo writes."""

import json
import re
import struct
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import bson
import pyarrow as pa
from bson import (
    Binary,
    Code,
    CodecOptions,
    DatetimeMS,
    Decimal128,
    Int64,
    MaxKey,
    MinKey,
    ObjectId,
    Regex,
    Timestamp,
)
from bson.raw_bson import RawBSONDocument

from commitlog import Schema
from commitlog.merge import Merger
from tests.oracle.reference.descriptor import read_descriptor
from tests.oracle.reference.recordings import Scenario, scenarios
from tests.oracle.reference.records import read_records
from tests.oracle.reference.sections import read_sections
from tests.oracle.reference.segment import read_bytes
from tests.support.mongodb.bson_documents import encoded, event

_RAW: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawBSONDocument)
_PER_TABLE = 6
_MAX_BYTES = 4000
_FRAMINGS = 8
"""That `framing.rs` knows."""
_MERGED = """
CREATE TABLE ks.c (k blob, c blob, n counter, PRIMARY KEY (k, c))
    WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c01;
CREATE TABLE ks.t (k blob, c blob, a blob, m map<blob, blob>, s blob static, PRIMARY KEY (k, c))
    WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c02;"""
"""The tables of `merge.rs`."""
_ID = re.compile(r"ID = ([0-9a-f-]{36})")


def seeds(target: str) -> list[bytes]:
    """Inputs in the form that the target takes (`commitlog/fuzz`); small ones, each but once."""
    found = {data for data in _MAKERS[target]() if len(data) <= _MAX_BYTES}
    return sorted(found, key=lambda data: (len(data), data))


def _recordings() -> Iterator[Scenario]:
    return (each for each in scenarios() if each.root.name == "fixtures")


def _readable() -> Iterator[Scenario]:
    return (each for each in _recordings() if not each.keys())


def _headers() -> Iterator[bytes]:
    for scenario in _recordings():
        for path, _ in scenario.segments():
            yield read_bytes(path)[:200]


def _chains() -> Iterator[bytes]:
    """Instructions (`segment.rs`): sections of records, whole and damaged, in every framing."""
    record = b"\x01\x05" + bytes(range(15))
    other = b"\x01\x40" + bytes(range(100, 174))
    bad = b"\x02\x05" + bytes(range(15))
    chains = (
        b"\x00" + record * 3,
        b"\x00" + record + b"\x00" + other + record + b"\x00",
        b"\x00" + record + bad + other + b"\x00" + record,
        b"\x00" + record + b"\x04\x20" + b"\x00" + record,
        b"\x00" + record + b"\x03\x08abcdefgh" + record + b"\x00" + record,
        b"\x00" + record + b"\x05\x7f\xff\xff\xff" + b"\x00" + record,
        b"\x00" + b"\x01\xff" + bytes(265) + b"\x00\x00\x00",
        b"\x00" + record + other + b"\x06\x00\x20\x01" + b"\x00" + record,
        b"\x00" + record + other + b"\x06\x00\x08\x40" + b"\x00" + record,
        b"\x00" + record + b"\x07\x00\x00\x00\x30" + b"\x00" + record,
    )
    for first in range(_FRAMINGS * 4):
        cut = b"\x00\x09" if first // _FRAMINGS == 3 else b""
        for chain in chains:
            yield bytes([first]) + cut + chain


def _payloads() -> Iterator[bytes]:
    """Version, schema of the first table, payload: some of each table of each recording."""
    for scenario in _readable():
        statements = _statements(scenario.folder / "schema.cql")
        types = "".join(each for each in statements if each.startswith("CREATE TYPE"))
        tables = {
            found[1]: _short(each)
            for each in statements
            if each.startswith("CREATE TABLE") and (found := _ID.search(each))
        }
        taken: Counter[str] = Counter()
        for path, name in scenario.segments():
            data = read_bytes(path)
            descriptor = read_descriptor(data, name)
            # Behind the flags of version 9 and the number of updates.
            start = 2 if descriptor.version >= 9 else 1
            for section in read_sections(data, descriptor):
                for record in read_records(section, name, Counter()):
                    table_id = str(UUID(bytes=record.payload[start : start + 16]))
                    text = tables.get(table_id)
                    if text is None or taken[table_id] >= _PER_TABLE:
                        continue
                    taken[table_id] += 1
                    schema = (types + text).encode()
                    head = bytes([descriptor.version - 6]) + len(schema).to_bytes(2, "big")
                    yield head + schema + record.payload


def _short(statement: str) -> str:
    """The statement without the options that say nothing about stored data."""
    head, _, options = statement.partition(") WITH ")
    kept = [
        option
        for option in options.rstrip(";\n").split("\n    AND ")
        if option.startswith(("ID", "CLUSTERING", "COMPACT", "cdc"))
    ]
    return f"{head}) WITH {' AND '.join(kept)};"


def _statements(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return [each.strip() + ";" for each in re.split(r";\n", text) if each.strip()]


def _texts() -> Iterator[bytes]:
    for scenario in _readable():
        for statement in _statements(scenario.folder / "schema.cql"):
            yield (_short(statement) if " WITH ID" in statement else statement).encode()


def _rows() -> Iterator[bytes]:
    column = {
        "keyspace_name": "k",
        "table_name": "t",
        "column_name": "v",
        "kind": "regular",
        "position": -1,
        "clustering_order": "none",
    }
    table = {"keyspace_name": "k", "table_name": "t", "cdc": True, "flags": ["compound"]}
    table["id"] = "5a1c395e-b41f-11e5-9f22-ba0be0483c18"
    for kind in ("int", "frozen<map<text, u>>", "list<frozen<tuple<int, text>>>", "vector<int, 3>"):
        document = {
            "tables": [table],
            "columns": [
                {**column, "type": kind},
                {**column, "column_name": "p", "kind": "partition_key", "position": 0}
                | {"type": "text"},
                {**column, "column_name": "c", "kind": "clustering", "position": 0}
                | {"type": "int", "clustering_order": "desc"},
            ],
            "dropped_columns": [
                {**column, "column_name": "d", "type": kind, "dropped_time": 1700000000000}
            ],
            "types": [
                {
                    "keyspace_name": "k",
                    "type_name": "u",
                    "field_names": ["a", "b"],
                    "field_types": ["int", "frozen<list<text>>"],
                }
            ],
            "views": [],
        }
        yield json.dumps(document).encode()


def _mongo_events() -> tuple[bytes, ...]:
    """Of each operation, in a transaction, a part, of every type."""
    types = {
        "n": None,
        "a": [{"b": 1, "c": True}, 1.5, {"b": {"x": Int64(1)}}],
        "x": {"y": {"z": DatetimeMS(0)}, "name": Decimal128("1.5")},
        "name": '\N{GREEK SMALL LETTER ALPHA}\U0001f600\\"\n',
        "o": [ObjectId(bytes(12)), Regex("a", "i"), Timestamp(1, 2), MinKey(), MaxKey()],
        "p": [Code("f"), Code("f", {"s": 1}), Binary(b"ab", 0), Binary(bytes(16), 4), b""],
    }
    update = {
        "updatedFields": {"a.0.b": 1, "x.y": {"z": 1}, "name": "m"},
        "removedFields": ["n", "a.b", "o"],
        "truncatedArrays": [{"field": "a", "newSize": 1}],
        "disambiguatedPaths": {"a.0": ["a", 0]},
    }
    session = {"lsid": {"id": Binary(bytes(16), 4)}, "txnNumber": Int64(3)}
    hidden = {"ns": {"db": "shop", "coll": "hidden"}}
    return (
        event("insert", fullDocument=types),
        event("update", updateDescription=update, fullDocument=types),
        event("replace", fullDocument={"a": {"b": 1, "name": 2}}, **session),
        event("delete", documentKey={"a": 1, "_id": {"x": 1.0}}, **session),
        event("delete", fullDocumentBeforeChange=types, **hidden),
        event("rename", to={"db": "shop", "coll": "b"}),
        event("invalidate"),
        event("insert", splitEvent={"fragment": 1, "of": 2}, fullDocument={}),
    )


def _mongo() -> Iterator[bytes]:
    """Layout, form of JSON, events."""
    events = _mongo_events()
    reply = {"cursor": {"nextBatch": [{"_id": 1}, {}], "id": Int64(5), "ns": "a.b"}, "ok": 1.0}
    yield bytes(2) + encoded(reply)
    part = encoded({**bson.decode(event("insert")), "splitEvent": {"fragment": 1, "of": 1}})
    for layout in range(4):
        for form in (*range(4), 0x10):
            head = bytes([layout, form])
            yield from (head + each for each in events)
            yield head + events[2] + events[3] + events[0] + events[2]
            yield head + events[4] + events[5] + events[3] + events[6]
            yield head + part


def _mongo_replies() -> Iterator[bytes]:
    """Layout, form of JSON, a place and a length that lies there, a reply: of a stream, of a
    collection."""
    events = [bson.decode(each, _RAW) for each in _mongo_events()]
    plain = [{"_id": number, "n": "x" * number} for number in range(3)]
    token = {"postBatchResumeToken": {"_data": "82" + "00" * 8}}
    for name, batch, more in (
        ("nextBatch", events[2:4], token),
        ("nextBatch", events[5:], token),
        ("firstBatch", events[:2], token),
        ("firstBatch", plain, {}),
        ("nextBatch", [], token),
    ):
        cursor = {name: batch, "id": Int64(5), "ns": "shop.cust", **more}
        reply = encoded({"cursor": cursor, "ok": 1.0, "operationTime": Timestamp(9, 1)})
        for layout, place in enumerate((0, 4, 16, 33)):
            for lie in (-1, 5, 2**31 - 1):
                head = bytes([layout, layout]) + struct.pack(">H", place) + struct.pack("<i", lie)
                yield head + reply


def _merges() -> Iterator[bytes]:
    """Table, length of an event, event, row state: of each kind, with states of other events."""
    place = {"pk": "AA==", "token": 1}
    row = {"kind": "row", "ck": "AQ==", "ckv": ["AQ=="], **place}
    deletion = {"ts": 2, "ldt": 10}
    shard = b64encode(b"\0\1\x80\0" + bytes(15) + b"\1" + bytes(7) + b"\5" + bytes(8)).decode()
    cells = [
        {"col": "a", "ts": 3, "val": "AQI="},
        {"col": "a", "ts": 3, "ttl": 5, "ldt": 12, "val": ""},
        {"col": "a", "ts": 4, "ldt": 12, "val": None},
        {"col": "m", "path": "AQ==", "ts": 5, "val": "AQ=="},
        {"col": "m", "path": "AQ==", "key": "Ag==", "ts": 5, "val": "AQ=="},
    ]
    rows = (
        row | {"live": {"ts": 1}, "cell": cells[:1]},
        row | {"live": {"ts": 1, "ttl": 5, "ldt": 12}, "cell": cells[1:2], "del": deletion},
        row | {"cdel": [deletion | {"col": "m"}], "cell": cells},
        {"kind": "static", **place, "cell": [{"col": "s", "ts": -5, "val": "AQI="}]},
        {"kind": "range", **place, "lo": "AQ==", "hi": "Ag==", "del": deletion},
        {"kind": "partition", **place, "del": deletion},
    )
    counters = tuple(
        row | {"cell": [{"col": "n", "ts": 7, **rest}]}
        for rest in ({"val": shard}, {"val": None, "ldt": 3})
    )
    for number, (table, events) in enumerate((("c", counters), ("t", rows))):
        merger = Merger(Schema.from_cql(_MERGED), "ks", table)
        for first in events:
            state = _compacted(merger, first)
            yield bytes([number, 0, 0]) + state
            for second in events:
                text = json.dumps({"cells": second}).encode()
                yield bytes([number]) + len(text).to_bytes(2, "big") + text + state


def _compacted(merger: Merger, cells: Mapping[str, Any]) -> bytes:
    event = pa.record_batch({"token": [1], "event": [json.dumps({"cells": cells})]})
    (batch,) = merger.compact([event])
    state: bytes = batch.column("state")[0].as_py()
    return state


_MAKERS = {
    "header": _headers,
    "chain": _chains,
    "payload": _payloads,
    "merge": _merges,
    "mongo": _mongo,
    "mongo_reply": _mongo_replies,
    "schema_text": _texts,
    "system_rows": _rows,
}
TARGETS = tuple(_MAKERS)
