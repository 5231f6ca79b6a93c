"""`_id`s extracted from documents equal those that the server wrote."""

import struct
from typing import Any

import bson
import hypothesis.strategies as st
import pytest
from bson import DBRef, Regex
from bson.code import Code
from hypothesis import given

from mongo_agent.encoder import id_document
from tests.support.mongodb.bson_documents import IDENTITIES

# Values of types that the drivers do not accept.
VALUES = [*IDENTITIES, [1, {"a": 2}], Regex("a.*", "i"), Code("f()", {"a": 1}), DBRef("c", 1)]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_document_id_of_every_type_is_extracted(value: Any) -> None:
    wanted = bson.encode({"_id": value})
    assert id_document(bson.encode({"_id": value, "rest": 1})) == wanted
    others = {f"x{index}": each for index, each in enumerate(VALUES)}
    assert id_document(bson.encode({**others, "_id": value})) == wanted


def test_document_id_of_deprecated_type_is_extracted() -> None:
    pointer = b"\x0c_id\0" + struct.pack("<i", 2) + b"c\0" + bytes(12)
    symbol = b"\x0e_id\0" + struct.pack("<i", 2) + b"s\0"
    undefined = b"\x06_id\0"
    for element in (pointer, symbol, undefined):
        document = struct.pack("<i", len(element) + 5) + element + b"\0"
        longer = element + b"\x0arest\0"
        longer = struct.pack("<i", len(longer) + 5) + longer + b"\0"
        assert id_document(longer) == document


@given(st.binary(max_size=60))
def test_malformed_documents_are_reported(noise: bytes) -> None:
    try:
        found = id_document(noise)
    except ValueError:
        return
    assert found[4:-1] in noise


def test_document_without_id_is_reported() -> None:
    with pytest.raises(ValueError, match="no _id"):
        id_document(bson.encode({"a": 1}))
