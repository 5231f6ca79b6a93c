"""Changes of columns, and their SQL."""

import pytest
from pyspark.sql.types import (
    ArrayType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from spark_jobs.tables.columns import (
    Add,
    ColumnChange,
    Drop,
    Rename,
    Widen,
    alter_statement,
    column_changes,
    is_in_map_key,
    sql_type,
)

INT, TEXT = IntegerType(), StringType()


def struct(**fields: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in fields.items()])


def test_a_type_in_sql_quotes_the_names_of_fields() -> None:
    kind = MapType(TEXT, ArrayType(struct(**{"a b": INT, "c`d": TEXT})))
    assert sql_type(kind) == "MAP<STRING, ARRAY<STRUCT<`a b`: INT, `c``d`: STRING>>>"


def test_equal_columns_need_no_change() -> None:
    columns = {"k": INT, "v": struct(x=INT)}
    assert column_changes(columns, dict(columns), 1) == []


def test_a_key_is_renamed_by_its_place() -> None:
    existing = {"k": INT, "c": INT, "v": TEXT}
    assert column_changes(existing, {"k": INT, "c2": INT, "v": TEXT}, 2) == [Rename(("c",), "c2")]


def test_a_key_may_get_the_name_of_a_dropped_column() -> None:
    assert column_changes({"k": INT, "v": TEXT}, {"v": INT}, 1) == [
        Drop(("v",)),
        Rename(("k",), "v"),
    ]


def test_columns_are_added_and_dropped_by_name() -> None:
    existing = {"k": INT, "a": TEXT, "b": INT}
    assert column_changes(existing, {"k": INT, "c": INT, "b": INT}, 1) == [
        Drop(("a",)),
        Add(("c",), INT),
    ]


def test_a_column_that_was_dropped_and_added_again_starts_empty() -> None:
    columns = {"k": INT, "a": TEXT}
    changes = column_changes(columns, columns, 1, frozenset({"a"}))
    assert changes == [Drop(("a",)), Add(("a",), TEXT)]


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        (struct(x=INT), struct(x=INT, y=TEXT), ("v", "y")),
        (ArrayType(struct(x=INT)), ArrayType(struct(x=INT, y=TEXT)), ("v", "element", "y")),
        (MapType(TEXT, struct(x=INT)), MapType(TEXT, struct(x=INT, y=TEXT)), ("v", "value", "y")),
        (MapType(struct(x=INT), INT), MapType(struct(x=INT, y=TEXT), INT), ("v", "key", "y")),
    ],
)
def test_a_field_is_added_at_any_depth(old: DataType, new: DataType, path: tuple[str, ...]) -> None:
    assert column_changes({"k": INT, "v": old}, {"k": INT, "v": new}, 1) == [Add(path, TEXT)]


def test_a_field_is_renamed_by_its_place() -> None:
    changes = column_changes(
        {"k": INT, "v": struct(x=INT, y=INT)}, {"k": INT, "v": struct(x=INT, z=LongType())}, 1
    )
    assert changes == [Widen(("v", "y"), INT, LongType()), Rename(("v", "y"), "z")]


@pytest.mark.parametrize(
    ("change", "statement"),
    [
        (Add(("v", "element", "y"), TEXT), "ADD COLUMNS (`v`.`element`.`y` STRING)"),
        (Drop(("a.b",)), "DROP COLUMN `a.b`"),
        (Rename(("v", "x"), "y"), "RENAME COLUMN `v`.`x` TO `y`"),
        (Widen(("v",), INT, LongType()), "ALTER COLUMN `v` TYPE BIGINT"),
    ],
)
def test_statements(change: ColumnChange, statement: str) -> None:
    assert alter_statement("t", change) == f"ALTER TABLE t {statement}"


def test_a_field_named_key_is_no_key_of_a_map() -> None:
    item = struct(key=INT, m=MapType(struct(x=INT), struct(key=INT)))
    columns = {"k": INT, "v": ArrayType(item)}
    element = ("v", "element")
    assert is_in_map_key(columns, (*element, "m", "key", "x"))
    for path in (("k",), (*element, "key"), (*element, "m", "value", "key"), ("v", "element", "n")):
        assert not is_in_map_key(columns, path)
