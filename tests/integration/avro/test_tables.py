"""Made tables: every type to a depth of three, names of any kind, columns left out, tables that
change."""

import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pytest
from fastavro.schema import SchemaParseException
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.avro.recordings import check_content
from tests.support.avro.tables import (
    DDL,
    ONE_SEGMENT,
    both,
    inserted,
    made_rows,
    named_rows,
)


@ONE_SEGMENT
@given(made_rows())
def test_values_of_every_type_equal_the_json_values(
    tmp_path: Path, made: tuple[str, dict[str, bytes], dict[str, Any]]
) -> None:
    ddl, written, modes = made
    ids, avro, plain = both(inserted(tmp_path, ddl, written), ddl, **modes)
    check_content(ids.decoded(avro), plain)


@settings(ONE_SEGMENT, max_examples=30)
@given(named_rows("ab_-1. é"), st.sampled_from(("avro", "avro_unicode")))
def test_any_names_make_a_schema(
    tmp_path: Path, made: tuple[str, dict[str, bytes]], names: str
) -> None:
    ddl, values = made
    ids, avro, _ = both(inserted(tmp_path, ddl, values), ddl, names=names)
    after = ids.decoded(avro)["after"]
    shown = [column["value"] for column in after.values() if column is not None]
    assert sorted(shown) == sorted([7, *range(len(values))])


def test_columns_are_left_out_of_after_and_cells(tmp_path: Path) -> None:
    ddl = DDL.format(columns="a int, b int")
    path = inserted(tmp_path, ddl, {"a": b"\0\0\0\1", "b": b"\0\0\0\2"})
    _, _, whole = both(path, ddl)
    ids, avro, plain = both(path, ddl, exclude_columns=[("ks", "t", "b"), ("ks", "t", "k")])
    for found in (ids.decoded(avro), plain):
        assert [name for name in found["after"] if not name.startswith("_")] == ["k", "a"]
        assert [cell["col"] for cell in found["cells"]["cell"]] == ["a"]
    del whole["after"]["b"]
    assert plain["after"] == whole["after"]
    _, avro, plain = both(path, ddl, exclude_columns=[("ks", "t", "a"), ("ks", "t", "b")])
    assert "cell" not in plain["cells"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a int", "a int, b text"),
        ("a int, b text", "a int"),
        ("a frozen<u>", "a frozen<u>, b frozen<u>"),
    ],
)
def test_an_old_value_is_read_by_the_schema_of_a_changed_table(
    tmp_path: Path, before: str, after: str
) -> None:
    kinds = "CREATE TYPE ks.u (x int, y text);\n"
    one, two = (kinds + DDL.format(columns=columns) for columns in (before, after))
    value = b"\0\0\0\1" if "u" not in before else b"\0\0\0\4\0\0\0\1"
    ids, avro, _ = both(inserted(tmp_path, one, {"a": value}), one)
    newer, _, _ = both(inserted(tmp_path, two, {"a": value}), two)
    schemas = [json.loads(found.schemas[-1].schema) for found in (ids, newer)]
    writer, reader = (fastavro.parse_schema(schema) for schema in schemas)
    found = fastavro.schemaless_reader(io.BytesIO(avro[5:]), writer, reader)
    assert isinstance(found, dict)
    assert found["after"]["a"] == ids.decoded(avro)["after"]["a"]
    assert found["after"].get("b") is None


def test_a_record_for_each_column_and_one_for_each_type() -> None:
    """What Debezium's connector writes, one name for all columns, is no schema."""
    cell = {"type": "record", "name": "cell_value", "fields": [{"name": "value", "type": "int"}]}
    other = {**cell, "fields": [{"name": "value", "type": "string"}]}
    fields = [{"name": "a", "type": cell}, {"name": "b", "type": other}]
    with pytest.raises(SchemaParseException):
        fastavro.parse_schema({"type": "record", "name": "after", "fields": fields})


def test_a_type_that_is_used_twice_is_a_reference(tmp_path: Path) -> None:
    kinds = "CREATE TYPE ks.u (x int);\n"
    ddl = kinds + DDL.format(
        columns="a frozen<u>, b frozen<u>, c tuple<int, int>, "
        "d tuple<int, int>, e frozen<list<frozen<u>>>"
    )
    ids, _, _ = both(inserted(tmp_path, ddl, {"a": b"\0\0\0\4\0\0\0\1"}), ddl)
    text = ids.schemas[-1].schema
    assert text.count('"name":"u"') == 1
    assert text.count('"name":"tuple2_int_int"') == 1
    assert text.count('"ks.u"') == 2
