"""Generated tables: every type to a depth of three, any names, and columns that are excluded,
dropped, or added again with another type."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import commitlog
from tests.support.avro.reading import messages
from tests.support.avro.tables import DDL, ONE_SEGMENT, format_of, inserted, made_rows, named_rows
from tests.support.converters.comparison import WithSchema, is_same
from tests.support.converters.connect import Connect
from tests.support.segments.segment_reading import reader_of

ONE = b"\0\0\0\1"


@pytest.fixture(scope="module")
def connect() -> Iterator[Connect]:
    with Connect() as running:
        yield running


def values(path: Path, ddl: str, encoding: str, **choices: Any) -> list[bytes]:
    """Values of a segment in an encoding."""
    schema = commitlog.Schema.from_cql(ddl)
    found = messages(path, schema, format_of(**choices, key=encoding, value=encoding))
    return [message.value for message in found]


def taken(connect: Connect, value: bytes) -> dict[str, Any]:
    """Payload of a value that Connect reads and writes without a change."""
    (written,) = connect.rewritten([value], "json")
    message, theirs = WithSchema.of(value), WithSchema.of(written)
    payload: dict[str, Any] = json.loads(message.payload)
    assert message.schema == theirs.schema
    assert is_same(message.parsed_schema, payload, json.loads(theirs.payload))
    return payload


def fields_of(value: bytes, member: str = "after") -> dict[str, dict[str, Any]]:
    """Schemas of the fields of a member."""
    members = {field["field"]: field for field in WithSchema.of(value).parsed_schema["fields"]}
    return {field["field"]: field for field in members[member]["fields"]}


@ONE_SEGMENT
@given(made_rows())
def test_connect_reads_generated_values_of_every_type(
    tmp_path: Path, connect: Connect, made: tuple[str, dict[str, bytes], dict[str, Any]]
) -> None:
    ddl, written, modes = made
    path = inserted(tmp_path, ddl, written)
    (value,) = values(path, ddl, "json_with_schema", **modes)
    (plain,) = values(path, ddl, "json", **modes)
    payload = taken(connect, value)
    assert {**payload, "ts_ms": 0} == {**json.loads(plain), "ts_ms": 0}


@settings(ONE_SEGMENT, max_examples=30)
@given(named_rows('ab_-1. é"\\'), st.sampled_from(("none", "avro", "avro_unicode")))
def test_connect_reads_columns_of_any_name(
    tmp_path: Path, connect: Connect, made: tuple[str, dict[str, bytes]], mode: str
) -> None:
    ddl, row = made
    (value,) = values(inserted(tmp_path, ddl, row), ddl, "json_with_schema", names=mode)
    payload = taken(connect, value)
    assert len(payload["after"]) == len(row) + 3
    if mode == "none":
        assert {*row, "k"} <= payload["after"].keys()
    assert list(fields_of(value)) == list(payload["after"])


def test_excluded_columns_are_missing_in_the_schema(tmp_path: Path, connect: Connect) -> None:
    ddl = DDL.format(columns="a int, b int")
    path = inserted(tmp_path, ddl, {"a": ONE, "b": ONE})
    (value,) = values(path, ddl, "json_with_schema", exclude_columns=[("ks", "t", "b")])
    assert list(fields_of(value)) == ["k", "a", "_range_start", "_range_end"]
    assert [cell["col"] for cell in taken(connect, value)["cells"]["cell"]] == ["a"]
    (value,) = values(path, ddl, "json_with_schema", cells=False)
    assert "cells" not in taken(connect, value)
    assert "cells" not in str(WithSchema.of(value).schema)


def test_range_field_replaces_a_column_of_its_name(tmp_path: Path, connect: Connect) -> None:
    ddl = DDL.format(columns='"_range_start" int, a int')
    path = inserted(tmp_path, ddl, {"_range_start": ONE, "a": ONE})
    (value,) = values(path, ddl, "json_with_schema")
    assert fields_of(value)["_range_start"]["name"] == "_range_start"
    assert taken(connect, value)["after"]["_range_start"] is None


def test_dropped_column_remains_in_schemas_of_its_events(tmp_path: Path, connect: Connect) -> None:
    before = DDL.format(columns="a int, b int, c int")
    drop = "\nALTER TABLE ks.t DROP c USING TIMESTAMP 1795000000000001;"
    after = before + drop
    path = inserted(tmp_path, before, {"a": ONE}, {"a": ONE, "c": ONE}, {"c": ONE}, {"b": ONE})
    found = values(path, after, "json_with_schema")
    for value, has_c in zip(found, (False, True, True, False), strict=True):
        assert ("c" in fields_of(value)) is has_c
        assert list(fields_of(value)) == list(taken(connect, value)["after"])
    texts = values(path, after, "string")
    assert [b",c=Struct{value=1,set=true}" in text for text in texts] == [False, True, True, False]


def test_readded_column_keeps_the_type_of_the_write(tmp_path: Path, connect: Connect) -> None:
    before = DDL.format(columns="a int, v int")
    after = (
        f"{before}\nALTER TABLE ks.t DROP v USING TIMESTAMP 1795000000000001;"
        "\nALTER TABLE ks.t ADD v text;"
    )
    path = inserted(tmp_path, before, {"a": ONE, "v": ONE}, {"a": ONE})
    old, other = values(path, after, "json_with_schema")
    for value, kind, shown in ((old, "int32", 1), (other, "string", None)):
        (field, *_) = fields_of(value)["v"]["fields"]
        assert (field["field"], field["type"]) == ("value", kind)
        column = taken(connect, value)["after"]["v"]
        assert (column and column["value"]) == shown


def test_headers_and_partition_do_not_depend_on_the_encoding(tmp_path: Path) -> None:
    ddl = DDL.format(columns="a int, b text")
    path = inserted(tmp_path, ddl, {"a": ONE, "b": b"x"}, {"a": ONE})
    schema = commitlog.Schema.from_cql(ddl)
    sides = ("json", "json_with_schema", "string")
    seen = set()
    for key in sides:
        for value in sides:
            batch = reader_of(path).read(schema, format_of(key=key, value=value), complete=True)
            found = batch.messages(0, len(batch))
            seen.add(tuple((topic, str(headers), hash_) for topic, _, _, headers, hash_ in found))
    assert len(seen) == 1


def test_key_and_value_encodings_are_independent(tmp_path: Path) -> None:
    ddl = DDL.format(columns="a varint, b decimal").replace("k int", "k varint")
    path = inserted(tmp_path, ddl, {"a": b"\1\0", "b": b"\0\0\0\1\5"})
    schema = commitlog.Schema.from_cql(ddl)
    modes = {"varint": "precise", "decimal": "precise"}
    sides = ("json", "json_with_schema", "string")
    keys: dict[tuple[str, str], set[bytes]] = {}
    shown: dict[str, set[bytes]] = {}
    for key in sides:
        for value in sides:
            for decimals in ("base64", "numeric"):
                event_format = format_of(
                    key=key, value=value, key_decimals=decimals, value_decimals="numeric", **modes
                )
                (message,) = messages(path, schema, event_format)
                keys.setdefault((key, decimals), set()).add(message.key)
                text = message.value.replace(b"Struct{ts_ms", b'{"ts_ms')
                shown.setdefault(value, set()).add(text.split(b"after")[-1])
    assert all(len(found) == 1 for found in keys.values())
    assert all(len(found) == 1 for found in shown.values())
    assert keys["json", "base64"] == {b'{"k":"Bw=="}'}
    assert keys["json", "numeric"] == {b'{"k":7}'}
    assert keys["string", "base64"] == keys["string", "numeric"] == {b"Struct{k=7}"}
