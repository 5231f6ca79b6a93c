"""Extended JSON from raw BSON.

pymongo reads the same documents from it, and MongoDB's Java driver writes the same bytes."""

import json
import math
import struct

import bson
import pytest
from bson import json_util
from bson.codec_options import DatetimeConversion
from bson.json_util import JSONMode, JSONOptions
from bson.raw_bson import RawBSONDocument
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.support.mongodb.bson_documents import (
    CODEC,
    SHORT_DOUBLES,
    Json,
    documents,
    encoded,
    event,
)
from tests.support.mongodb.encodings import encoder
from tests.support.mongodb.java_extended_json import extended_json

_READ = JSONOptions(
    json_mode=JSONMode.CANONICAL, datetime_conversion=DatetimeConversion.DATETIME_MS
)
_RELAXED = JSONOptions(
    json_mode=JSONMode.RELAXED, datetime_conversion=DatetimeConversion.DATETIME_MS
)
_ALL_DOUBLES = st.floats(allow_nan=False) | st.just(math.nan)


def texts(document: bytes, document_json: str) -> tuple[str, str]:
    """The text as a whole document and as the fields of an update."""
    fields = RawBSONDocument(document)
    batch = encoder(document_json=document_json).encode(
        [
            event("insert", fullDocument=fields),
            event("update", updateDescription={"updatedFields": fields}),
        ]
    )
    assert batch.failures == []
    insert, update = (json.loads(message[2] or b"") for message in batch.messages(0, 2))
    return insert["after"], update["updateDescription"]["updatedFields"]


def read_back(text: str) -> bytes:
    return encoded(json_util.loads(text, json_options=_READ))


@given(documents(_ALL_DOUBLES))
def test_canonical_and_strict_json_are_lossless(document: Json) -> None:
    raw = encoded(document)
    canonical, fields = texts(raw, "extended")
    assert canonical == fields
    assert read_back(canonical) == raw
    strict, fields = texts(raw, "strict")
    assert strict == fields
    assert read_back(strict) == raw


@given(documents(_ALL_DOUBLES))
def test_relaxed_json_equals_pymongo(document: Json) -> None:
    raw = encoded(document)
    decoded = bson.decode(raw, codec_options=CODEC)
    theirs = json_util.dumps(decoded, json_options=_RELAXED)
    relaxed, fields = texts(raw, "relaxed")
    assert relaxed == fields
    assert read_back(relaxed) == read_back(theirs)
    legacy, fields = texts(raw, "legacy")
    assert legacy == texts(raw, "strict")[0]
    assert read_back(fields) == read_back(theirs)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (10.0, "10.0"),
        (12.34, "12.34"),
        (1e10, "1.0E10"),
        (1.5e-7, "1.5E-7"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (0.001, "0.001"),
        (2e23, "2.0E23"),
        (5e-324, "4.9E-324"),
        (-0.0, "-0.0"),
        (math.nan, '{"$numberDouble": "NaN"}'),
        (-math.inf, '{"$numberDouble": "-Infinity"}'),
    ],
)
def test_doubles_are_written_as_in_java(number: float, text: str) -> None:
    assert texts(encoded({"v": number}), "relaxed")[0] == f'{{"v": {text}}}'


@pytest.mark.slow
@pytest.mark.servers
def test_extended_json_equals_java_driver_output() -> None:
    found: list[bytes] = []

    @settings(max_examples=500, database=None, phases=[Phase.generate])
    @given(documents(SHORT_DOUBLES))
    def collect(document: Json) -> None:
        found.append(encoded(document))

    collect()
    for raw, expected in zip(found, extended_json(found), strict=True):
        shown = raw.hex()
        assert texts(raw, "legacy") == (expected.strict, expected.spaced), shown
        assert texts(raw, "relaxed")[0] == expected.relaxed, shown
        assert texts(raw, "extended")[0] == expected.canonical, shown


@pytest.mark.slow
@pytest.mark.servers
def test_deprecated_types_are_encoded() -> None:
    """The test builds the bytes, because pymongo reads these types as other types."""
    text = struct.pack("<i", 7) + "größ".encode() + b"\0"
    members = (
        b"\x06undefined\0"
        b"\x0esymbol\0" + text + b"\x0cpointer\0" + text + bytes(range(12)) + b"\x02text\0" + text
    )
    raw = struct.pack("<i", 4 + len(members) + 1) + members + b"\0"
    (expected,) = extended_json([raw])
    assert texts(raw, "legacy") == (expected.strict, expected.spaced)
    assert texts(raw, "relaxed")[0] == expected.relaxed
    assert texts(raw, "extended")[0] == expected.canonical
