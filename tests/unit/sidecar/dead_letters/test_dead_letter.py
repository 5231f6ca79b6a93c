"""The line of a dead letter: one line of JSON with the whole key and value."""

import base64
import zlib

import orjson
import pytest

from sidecar.dead_letters.dead_letter import DeadLetter, event_line

LARGE = b'{"v":"' + b"x" * 3_000_000 + b'"}'
AVRO = b"\0\0\0\0\1text"
COMPRESSED = zlib.compress(LARGE)
INDENTED = b'{\n  "v": 1\r\n}'


def line_of(value: bytes, key: bytes = b'{"id":1}') -> bytes:
    return event_line(DeadLetter("shop", key, value, [("cdc.id", b"\1")], "too large"), "0.2.0")


def test_json_value_is_preserved_byte_for_byte() -> None:
    for value in (LARGE, b'{"a": 1.10, "a": 123456789012345678901234567890}', b"null"):
        assert b'"value":' + value + b',"headers"' in line_of(value)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b"Struct{v=\xc3\xa9}", "Struct{v=\xe9}"),
        (b"plain text", "plain text"),
        (b"", ""),
        (INDENTED, INDENTED.decode()),
        (AVRO, base64.b64encode(AVRO).decode()),
        (COMPRESSED, base64.b64encode(COMPRESSED).decode()),
        (b"S\xff", base64.b64encode(b"S\xff").decode()),
    ],
    ids=["struct", "text", "empty", "indented JSON", "Avro", "compressed", "no UTF-8"],
)
def test_non_json_dead_letter_is_complete_in_one_line(value: bytes, shown: str) -> None:
    line = line_of(value, key=value)
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    found = orjson.loads(line)
    assert (found["key"], found["value"]) == (shown, shown)
    assert (found["topic"], found["headers"]) == ("shop", {"cdc.id": "01"})
    assert (found["reason"], found["agent_version"]) == ("too large", "0.2.0")
