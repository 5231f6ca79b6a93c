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
    Columns,
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


def test_sql_type_quotes_field_names() -> None:
    kind = MapType(TEXT, ArrayType(struct(**{"a b": INT, "c`d": TEXT})))
    assert sql_type(kind) == "MAP<STRING, ARRAY<STRUCT<`a b`: INT, `c``d`: STRING>>>"


K, V = {"k": INT}, ("v",)
XY = struct(x=INT, y=TEXT)
NAMED = K | {"v": TEXT}
# Columns before and after, the number of key columns, the changes.
CHANGES: dict[str, tuple[Columns, Columns, int, list[ColumnChange]]] = {
    "equal columns": (K | {"v": struct(x=INT)}, K | {"v": struct(x=INT)}, 1, []),
    "a key has another name at its place": (
        {"k": INT, "c": INT, "v": TEXT},
        {"k": INT, "c2": INT, "v": TEXT},
        2,
        [Rename(("c",), "c2")],
    ),
    "a key has the name of a dropped column": (
        NAMED,
        {"v": INT},
        1,
        [Drop(V), Rename(("k",), "v")],
    ),
    "columns are added and dropped by name": (
        {"k": INT, "a": TEXT, "b": INT},
        {"k": INT, "c": INT, "b": INT},
        1,
        [Drop(("a",)), Add(("c",), INT)],
    ),
    "a field of a struct": (K | {"v": struct(x=INT)}, K | {"v": XY}, 1, [Add((*V, "y"), TEXT)]),
    "a field in an array": (
        K | {"v": ArrayType(struct(x=INT))},
        K | {"v": ArrayType(XY)},
        1,
        [Add((*V, "element", "y"), TEXT)],
    ),
    "a field in a value of a map": (
        K | {"v": MapType(TEXT, struct(x=INT))},
        K | {"v": MapType(TEXT, XY)},
        1,
        [Add((*V, "value", "y"), TEXT)],
    ),
    "a field in a key of a map": (
        K | {"v": MapType(struct(x=INT), INT)},
        K | {"v": MapType(XY, INT)},
        1,
        [Add((*V, "key", "y"), TEXT)],
    ),
    "a field has another name and type at its place": (
        K | {"v": struct(x=INT, y=INT)},
        K | {"v": struct(x=INT, z=LongType())},
        1,
        [Widen((*V, "y"), INT, LongType()), Rename((*V, "y"), "z")],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_column_changes_are_derived(name: str) -> None:
    existing, wanted, keys, expected = CHANGES[name]
    assert column_changes(existing, wanted, keys) == expected


def test_column_added_again_starts_empty() -> None:
    assert column_changes(NAMED, NAMED, 1, frozenset(V)) == [Drop(V), Add(V, TEXT)]


@pytest.mark.parametrize(
    ("change", "statement"),
    [
        (Add(("v", "element", "y"), TEXT), "ADD COLUMNS (`v`.`element`.`y` STRING)"),
        (Drop(("a.b",)), "DROP COLUMN `a.b`"),
        (Rename(("v", "x"), "y"), "RENAME COLUMN `v`.`x` TO `y`"),
        (Widen(("v",), INT, LongType()), "ALTER COLUMN `v` TYPE BIGINT"),
    ],
)
def test_alter_statement_expresses_column_change(change: ColumnChange, statement: str) -> None:
    assert alter_statement("t", change) == f"ALTER TABLE t {statement}"


def test_field_named_key_is_not_a_map_key() -> None:
    item = struct(key=INT, m=MapType(struct(x=INT), struct(key=INT)))
    columns = {"k": INT, "v": ArrayType(item)}
    element = ("v", "element")
    assert is_in_map_key(columns, (*element, "m", "key", "x"))
    for path in (("k",), (*element, "key"), (*element, "m", "value", "key"), ("v", "element", "n")):
        assert not is_in_map_key(columns, path)
