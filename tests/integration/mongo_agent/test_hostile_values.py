"""Values that drivers do not write but servers store: the stream and a snapshot deliver each as
valid JSON, in its order."""

import base64
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import bson
import pytest
from bson import CodecOptions
from bson.raw_bson import RawBSONDocument

from mongo_agent.encoder import id_document
from tests.support.mongodb.proxy import MongoProxy, Sent, document_of, has_events, message_of
from tests.support.mongodb.raw_bson import cstring, document, element, nested, string
from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server.client import Client

_RAW: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawBSONDocument)

OBJECT_ID = bytes(range(12))
INFINITE, NOT_A_NUMBER = 0x78 << 120, 0x7C << 120
# Tag and value; MongoDB rejects arrays, regular expressions and undefined as `_id`, other servers
# do not.
IDS: dict[str, tuple[int, bytes]] = {
    "double": (0x01, struct.pack("<d", -0.0)),
    "NaN": (0x01, struct.pack("<d", float("nan"))),
    "NaN with a payload": (0x01, struct.pack("<Q", 0xFFF8_0000_DEAD_BEEF)),
    "infinity": (0x01, struct.pack("<d", float("-inf"))),
    "smallest double": (0x01, struct.pack("<Q", 1)),
    "string": (0x02, string("x")),
    "empty string": (0x02, string("")),
    "string with zeros": (0x02, string("a\0b\0")),
    "string that is not UTF-8": (0x02, string(b"\xff\xfe\xc3")),
    "half a surrogate pair": (0x02, string(b"\xed\xa0\x80x")),
    "noncharacters": (0x02, string("\N{LINE SEPARATOR}\ufffe\U0010ffff\x7f\x01")),
    "document": (0x03, document(element(0x10, "a", struct.pack("<i", 1)))),
    "empty document": (0x03, document()),
    "dollar field": (0x03, document(element(0x02, "$oid", string("x")))),
    "dollar field of a date": (0x03, document(element(0x08, "$date", b"\1"))),
    "duplicate names": (0x03, document(element(0x0A, "a", b""), element(0x08, "a", b"\1"))),
    "array": (0x04, document(element(0x10, "0", struct.pack("<i", 1)))),
    "array with wrong names": (0x04, document(element(0x0A, "7", b""), element(0x0A, "x", b""))),
    "binary": (0x05, struct.pack("<iB", 2, 0) + b"ab"),
    "old binary": (0x05, struct.pack("<iBi", 6, 2, 2) + b"ab"),
    "empty binary": (0x05, struct.pack("<iB", 0, 0)),
    "UUID": (0x05, struct.pack("<iB", 16, 4) + bytes(16)),
    "UUID of a wrong length": (0x05, struct.pack("<iB", 3, 4) + bytes(3)),
    "encrypted": (0x05, struct.pack("<iB", 3, 6) + bytes(3)),
    "user defined binary": (0x05, struct.pack("<iB", 1, 255) + b"x"),
    "undefined": (0x06, b""),
    "ObjectId": (0x07, OBJECT_ID),
    "boolean": (0x08, b"\1"),
    "date": (0x09, struct.pack("<q", 0)),
    "first date": (0x09, struct.pack("<q", -(2**63))),
    "last date": (0x09, struct.pack("<q", 2**63 - 1)),
    "date after year 9999": (0x09, struct.pack("<q", 253402300800000)),
    "null": (0x0A, b""),
    "regular expression": (0x0B, cstring('a/b"') + cstring("imsx")),
    "regular expression that is not UTF-8": (0x0B, cstring(b"\xff") + cstring(b"\xfe")),
    "DBPointer": (0x0C, string("shop.a") + OBJECT_ID),
    "code": (0x0D, string("f()")),
    "symbol": (0x0E, string("s")),
    "code with a scope": (
        0x0F,
        struct.pack("<i", 4 + len(string("f()")) + len(document())) + string("f()") + document(),
    ),
    "int32": (0x10, struct.pack("<i", -(2**31))),
    "timestamp": (0x11, struct.pack("<II", 2**32 - 1, 2**32 - 1)),
    "int64": (0x12, struct.pack("<q", -(2**63))),
    "decimal": (0x13, (2 * 10**33 | 0x3040 << 112).to_bytes(16, "little")),
    "largest decimal": (0x13, (10**34 - 1 | 0x5FFE << 112).to_bytes(16, "little")),
    "smallest decimal": (0x13, (1).to_bytes(16, "little")),
    "infinite decimal": (0x13, INFINITE.to_bytes(16, "little")),
    "NaN decimal with a payload": (0x13, (NOT_A_NUMBER | 77).to_bytes(16, "little")),
    "signaling NaN": (0x13, (0xFE << 120).to_bytes(16, "little")),
    "decimal with too many digits": (0x13, (2**113 - 1).to_bytes(16, "little")),
    "minKey": (0xFF, b""),
    "maxKey": (0x7F, b""),
}
NAMES: list[str | bytes] = [
    "",
    ".",
    "$",
    "a.b",
    ".a.",
    "$a",
    "a$b",
    "$ref",
    "__proto__",
    "\x01\x1f\x7f",
    "\N{SYMBOL FOR NULL}",
    "\N{OVERLINE}\u202e",
    "a" * 5000,
    b"\xff\xfe",
    b"\xc0\x80",
    'a"b\\',
    "\n",
]
DOCUMENTS: dict[str, bytes] = {
    **{
        f"_id: {name}": document(element(tag, "_id", value), element(tag, "v", value))
        for name, (tag, value) in IDS.items()
    },
    **{
        f"name: {name!r:.20}": document(
            element(0x08, "_id", b"\0"), element(0x10, name, bytes(4)), element(0x0A, "z", b"")
        )
        for name in NAMES
    },
    "duplicate names": document(*(element(0x10, "_id", struct.pack("<i", n)) for n in range(3))),
    "_id at the end": document(element(0x0A, "z", b""), element(0x08, "_id", b"\0")),
    # The event itself is a level, and the server accepts 200.
    "180 levels": document(element(0x08, "_id", b"\0"), element(0x03, "a", nested(179))),
    "as many levels as servers send": document(
        element(0x08, "_id", b"\0"), element(0x03, "a", nested(198))
    ),
}
# Drivers cannot read these values either; with the reasons.
UNREADABLE: dict[str, tuple[bytes, str]] = {
    "deeper than any server sends": (
        document(element(0x08, "_id", b"\0"), element(0x03, "a", nested(250))),
        "nested more than 200 levels deep",
    ),
    "old binary of two lengths": (
        document(
            element(0x08, "_id", b"\0"), element(0x05, "a", struct.pack("<iBi", 6, 2, 99) + b"ab")
        ),
        "a binary has the invalid length 6",
    ),
}


def stored(number: int) -> dict[str, Any]:
    """Document that a test writes in place of one that drivers cannot write."""
    return {"_id": number, "stands_for": number}


class Replacing:
    """Fault of `MongoProxy`: replaces numbered documents in replies with the given ones."""

    def __init__(self, documents: Mapping[int, bytes]) -> None:
        self._documents = documents

    def __call__(self, message: bytes) -> Sent:
        reply = bson.decode(document_of(message), _RAW)
        cursor = dict(reply["cursor"])
        name = next(name for name in cursor if name.endswith("Batch"))
        cursor[name] = [self._replaced(each) for each in cursor[name]]
        return Sent(message_of(message, bson.encode({**reply, "cursor": cursor})))

    def _replaced(self, each: RawBSONDocument) -> RawBSONDocument:
        found = self._documents.get(each.get("stands_for", -1))
        if found is not None:
            return RawBSONDocument(found)
        image = each.get("fullDocument", {})
        found = self._documents.get(image.get("stands_for", -1))
        if found is None:
            return each
        key = RawBSONDocument(id_document(found))
        changed = {"documentKey": key, "fullDocument": RawBSONDocument(found)}
        return RawBSONDocument(bson.encode({**each, **changed}))


def assert_json(text: str) -> None:
    """Valid for any JSON reader: no NaN, no unpaired surrogates."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    json.loads(text, parse_constant=refuse)
    text.encode()


@pytest.mark.parametrize("form", ["legacy", "strict", "extended", "relaxed"])
def test_stream_and_snapshot_deliver_every_value(
    form: str, tmp_path: Path, shop: Client, proxy: MongoProxy
) -> None:
    given = dict(enumerate(DOCUMENTS.values()))
    shop.shop.copied.insert_many([stored(number) for number in given])
    proxy.alter(Replacing(given), commands=["aggregate", "getMore", "find"], when=has_events)
    properties = {"snapshot.mode": "initial", "json.serialization.mode": form}
    with RunningAgent(tmp_path / "offsets", proxy.connection_string, properties) as agent:
        agent.wait_for(len(given))
        shop.shop.streamed.insert_many([stored(number) for number in given])
        published = agent.wait_for(2 * len(given))
        assert not (agent.offsets / "quarantine").exists()
    copied, streamed = published[: len(given)], published[len(given) :]
    for name, copy, change in zip(DOCUMENTS, copied, streamed, strict=True):
        assert (copy.kind, change.kind) == ("read", "insert"), name
        assert copy.key == change.key, name
        assert copy.value["after"] == change.value["after"], name
        assert_json(change.key["id"])
        assert_json(change.value["after"])


@pytest.mark.parametrize(("raw", "reason"), UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_document_is_a_dead_letter(
    raw: bytes, reason: str, tmp_path: Path, shop: Client, proxy: MongoProxy
) -> None:
    proxy.alter(Replacing({1: raw}), when=has_events)
    properties = {"event.processing.failure.handling.mode": "quarantine"}
    with RunningAgent(tmp_path, proxy.connection_string, properties).streaming() as agent:
        shop.shop.a.insert_many([stored(number) for number in range(3)])
        assert [each.id for each in agent.wait_for(2)] == [0, 2]
        letter = agent.wait_for_dead_letter()
        assert reason in letter["reason"]
        assert raw in base64.b64decode(letter["raw_base64"])
