"""Generated tables: every type to a depth of three, any names, tables that change."""

import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

import commitlog
from sidecar.encoding import SchemaIds
from tests.support.avro.changes import CHANGE_NAMES, CHANGES
from tests.support.avro.reading import differences
from tests.support.avro.recordings import check_content
from tests.support.avro.tables import DDL, ONE_SEGMENT, inserted, made_rows, named_rows
from tests.support.protobuf.compiler import message_class
from tests.support.protobuf.reading import both, plain, value_schema
from tests.support.segments.segment_reading import reader_of

NUMBER = b"\0\0\0\1"
FIRST = 2048
HEAD_BYTES = 6


@settings(ONE_SEGMENT, max_examples=40)
@given(made_rows())
def test_generated_protobuf_values_equal_the_json_values(
    tmp_path: Path, made: tuple[str, dict[str, bytes], dict[str, Any]]
) -> None:
    ddl, written, modes = made
    ids, ours, other = both(inserted(tmp_path, ddl, written), ddl, **modes)
    check_content(ids.decoded(ours.value), json.loads(other.value))


@settings(ONE_SEGMENT, max_examples=30)
@given(named_rows("abA_-1. é"), st.sampled_from(("avro", "avro_unicode")))
def test_any_column_names_make_a_protobuf_schema(
    tmp_path: Path, made: tuple[str, dict[str, bytes]], names: str
) -> None:
    ddl, values = made
    ids, ours, _ = both(inserted(tmp_path, ddl, values), ddl, names=names)
    after = ids.decoded(ours.value)["after"]
    shown = [column["value"] for column in after.values() if column is not None]
    assert sorted(shown) == sorted([7, *range(len(values))])


@pytest.mark.parametrize("name", ["message", "Cell_int", "After", "option", "string", "repeated"])
def test_column_names_may_be_protobuf_keywords(name: str, tmp_path: Path) -> None:
    ddl = DDL.format(columns=f'"{name}" int, "value" text')
    ids, ours, _ = both(inserted(tmp_path, ddl, {name: NUMBER, "value": b"x"}), ddl)
    after = ids.decoded(ours.value)["after"]
    assert (after[name]["value"], after["value"]["value"]) == (1, "x")


@pytest.mark.parametrize(("before", "after", "value"), CHANGES, ids=CHANGE_NAMES)
def test_field_numbers_survive_table_changes(
    before: str, after: str, value: bytes, tmp_path: Path
) -> None:
    """The new schema reads old messages, and the old schema reads new ones."""
    read = []
    for ddl in (before, after):
        ids, ours, _ = both(inserted(tmp_path, ddl, {"a": value}), ddl)
        read.append((ids.schemas[-1].schema, ours.value))
    (old_schema, old), (new_schema, new) = read
    for schema in (old_schema, new_schema):
        for data in (old, new):
            found = plain(made(schema, data))["after"]["a"]
            expected = plain(made(old_schema, old))["after"]["a"]["value"]
            if isinstance(expected, dict):
                assert found["value"]["x"] == expected["x"] == 1
            else:
                assert found["value"] == expected


def made(schema: str, data: bytes) -> Message:
    message = message_class(schema)()
    message.ParseFromString(data[HEAD_BYTES:])
    return message


def test_readded_column_of_another_type_gets_another_number(tmp_path: Path) -> None:
    one, two = (
        after_numbers(tmp_path, DDL.format(columns=columns), {"b": b"x"})
        for columns in ("a int, b text", "a text, b text")
    )
    assert one["k"] == two["k"] == 1
    assert one["b"] == two["b"] >= FIRST
    assert one["a"] != two["a"]


def after_numbers(folder: Path, ddl: str, values: dict[str, bytes]) -> dict[str, int]:
    return numbers(value_schema(inserted(folder, ddl, values), ddl))


def numbers(schema: str) -> dict[str, int]:
    after = message_class(schema).DESCRIPTOR.nested_types_by_name["After"]
    return {field.name: field.number for field in after.fields}


# Both names map to the same Protobuf name.
ALIKE = 'CREATE TYPE ks."u-1" (x int);\nCREATE TYPE ks."u_1" (y text);\n'


def test_added_type_of_equal_name_changes_no_number(tmp_path: Path) -> None:
    before = ALIKE + DDL.format(columns='b frozen<"u_1">')
    after = ALIKE + DDL.format(columns='a frozen<"u-1">, b frozen<"u_1">')
    values = {"b": b"\0\0\0\1x"}
    old, new = (after_numbers(tmp_path, ddl, values) for ddl in (before, after))
    assert old["b"] == new["b"]
    assert new["a"] not in old.values()


def test_types_of_equal_names_have_separate_messages(tmp_path: Path) -> None:
    columns = {
        "a": 'list<frozen<"u-1">>',
        "b": 'list<frozen<"u_1">>',
        "c": 'map<int, frozen<"u-1">>',
        "d": 'map<int, frozen<"u_1">>',
        "e": 'tuple<frozen<"u-1">>',
        "f": 'tuple<frozen<"u_1">>',
    }
    ddl = ALIKE + DDL.format(columns=", ".join(f"{n} frozen<{ty}>" for n, ty in columns.items()))
    one, two = b"\0\0\0\x08" + b"\0\0\0\4" + NUMBER, b"\0\0\0\5\0\0\0\1x"
    entry = b"\0\0\0\1\0\0\0\4" + NUMBER
    values = {
        "a": NUMBER + one,
        "b": NUMBER + two,
        "c": entry + one,
        "d": entry + two,
        "e": one,
        "f": two,
    }
    ids, ours, other = both(inserted(tmp_path, ddl, values), ddl)
    after = ids.decoded(ours.value)["after"]
    assert [*differences(after, json.loads(other.value)["after"])] == []
    assert after["b"]["value"] == [{"y": "x"}]


def test_field_numbers_ignore_exclusions_and_name_adjustment(tmp_path: Path) -> None:
    ddl = DDL.format(columns='a int, b int, "c-d" text, e decimal')
    path = inserted(tmp_path, ddl, {"a": NUMBER})
    left_out: list[dict[str, Any]] = [
        {},
        {"exclude_columns": [("ks", "t", "b")]},
        {"names": "avro_unicode"},
        {"cells": False},
    ]
    found = [set(numbers(value_schema(path, ddl, **each)).values()) for each in left_out]
    whole = found[0]
    assert found[1] < whole
    assert len(whole - found[1]) == 1
    assert found[2] == found[3] == whole


def test_empty_list_is_not_null(tmp_path: Path) -> None:
    ddl = DDL.format(columns="a frozen<list<int>>, b text, c int, d frozen<list<int>>")
    empty = b"\0\0\0\0"
    with_null = b"\0\0\0\2\0\0\0\0\0\0\0\4\0\0\0\5"
    values = {"a": empty, "b": b"", "c": b"\0\0\0\0", "d": with_null}
    ids, ours, other = both(inserted(tmp_path, ddl, values), ddl)
    after = ids.decoded(ours.value)["after"]
    assert [after[name]["value"] for name in "abcd"] == [[], "", 0, [None, 5]]
    assert json.loads(other.value)["after"]["d"]["value"] == [None, 5]


def test_protobuf_table_waits_for_both_schema_ids(tmp_path: Path) -> None:
    ddl = DDL.format(columns="a int")
    event_format = commitlog.EventFormat(
        topic_prefix="a-b.c",
        cluster="c",
        node_id="n",
        all_tables=True,
        key="protobuf",
        value="protobuf",
        schema_ids=SchemaIds(),
    )
    reader = reader_of(inserted(tmp_path, ddl, {"a": NUMBER}))
    batch = reader.read(commitlog.Schema.from_cql(ddl), event_format, complete=True)
    assert batch.blocked is not None
    key, value = batch.blocked.unregistered
    assert [(each.side, each.schema_type) for each in (key, value)] == [
        ("key", "PROTOBUF"),
        ("value", "PROTOBUF"),
    ]
    package = "io.debezium.connector.cassandra.a_b.c.ks.t"
    assert (key.record, value.record) == (f"{package}.Key", f"{package}.Envelope")
    assert message_class(key.schema).DESCRIPTOR.full_name == key.record
    assert message_class(value.schema).DESCRIPTOR.full_name == value.record
