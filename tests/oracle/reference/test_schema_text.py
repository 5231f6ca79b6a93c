"""Schemas as CQL prints them."""

from uuid import UUID

import pytest

from tests.oracle.reference.cql_text import SchemaTextError
from tests.oracle.reference.cql_types import (
    Collection,
    CqlType,
    Custom,
    Native,
    Tuple,
    UserType,
    Vector,
    is_complex,
)
from tests.oracle.reference.schema import Table
from tests.oracle.reference.schema_text import parse_schema

ID = UUID("240c5050-e5c9-11f1-998c-b39dc08f01bb")
OTHER_ID = UUID("2f10e6a0-e5c9-11f1-998c-b39dc08f01bb")
INT, TEXT = Native("int"), Native("text")


def only_table(text: str) -> Table:
    (table,) = parse_schema(text).tables.values()
    return table


def type_of(cql: str) -> CqlType:
    """The type of a column `c` beside a type `u (a int)`."""
    return only_table(
        f"CREATE TYPE k.u (a int); CREATE TABLE k.t (p int PRIMARY KEY, c {cql}) WITH ID = {ID}"
    ).columns["c"]


def test_keys_columns_and_options() -> None:
    table = only_table(
        f"""
        CREATE KEYSPACE k WITH replication = {{'class': 'SimpleStrategy'}}
            AND durable_writes = true;
        /* a comment; with a semicolon */
        CREATE TABLE k.T (
            a int, b text, c uuid, d timestamp,
            s text static,
            v bigint, -- the rest; is silence
            PRIMARY KEY ((a, b), c, d)
        ) WITH ID = {ID}
            AND CLUSTERING ORDER BY (c ASC, d DESC)
            AND comment = 'it''s; (fine'
            AND caching = {{'keys': 'ALL'}}
            AND extensions = {{}}
            AND bloom_filter_fp_chance = 0.01
            AND cdc = true;
        CREATE INDEX i ON k.t (v);
        """
    )
    assert (table.id, table.keyspace, table.name) == (ID, "k", "t")
    assert table.partition_key == (INT, TEXT)
    assert table.clustering == (Native("uuid"), Native("timestamp"))
    assert table.columns == {"s": TEXT, "v": Native("bigint")}


def test_quoted_names_keep_everything() -> None:
    table = only_table(
        f'CREATE TABLE "K"."Tä ""b" ("漢" int PRIMARY KEY, "A" int, A text) WITH ID = {ID}'
    )
    assert (table.keyspace, table.name) == ("K", 'Tä "b')
    assert table.columns == {"A": INT, "a": TEXT}


@pytest.mark.parametrize(
    ("cql", "expected"),
    [
        ("varchar", TEXT),
        ("list<int>", Collection("list", None, INT, False)),
        ("frozen<list<int>>", Collection("list", None, INT, True)),
        (
            "map<text, frozen<set<int>>>",
            Collection("map", TEXT, Collection("set", None, INT, True), False),
        ),
        ("tuple<int, list<int>>", Tuple((INT, Collection("list", None, INT, True)))),
        ("frozen<tuple<int, text>>", Tuple((INT, TEXT))),
        ("vector<float, 3>", Vector(Native("float"), 3)),
        ("u", UserType("k", "u", (("a", INT),), False)),
        ("frozen<k.u>", UserType("k", "u", (("a", INT),), True)),
        ("'org.example.Type'", Custom("org.example.Type")),
    ],
)
def test_types(cql: str, expected: CqlType) -> None:
    assert type_of(cql) == expected


@pytest.mark.parametrize("cql", ["list<int>", "set<int>", "map<int, int>", "u"])
def test_unfrozen_collections_and_user_types_are_complex(cql: str) -> None:
    assert is_complex(type_of(cql))
    assert not is_complex(type_of(f"frozen<{cql}>"))


def test_types_may_use_types_that_come_later() -> None:
    schema = parse_schema(
        f"""
        CREATE TYPE k.outer (i frozen<list<frozen<inner>>>);
        CREATE TYPE k.inner (x int, "Y" text);
        CREATE TABLE k.t (p int PRIMARY KEY, c outer) WITH ID = {ID};
        """
    )
    inner = UserType("k", "inner", (("x", INT), ("Y", TEXT)), True)
    outer = schema.tables[ID].columns["c"]
    assert outer == UserType(
        "k", "outer", (("i", Collection("list", None, inner, True)),), frozen=False
    )


def test_a_dropped_column_keeps_its_type_until_the_name_is_used_again() -> None:
    table = only_table(
        f"""
        CREATE TABLE k.t (p int PRIMARY KEY, m map<int, int>, w text, x int) WITH ID = {ID};
        ALTER TABLE k.t DROP m USING TIMESTAMP 1795278812117000;
        ALTER TABLE k.t DROP w USING TIMESTAMP -1;
        ALTER TABLE k.t ADD w blob static;
        ALTER TABLE k.t ADD (y int, z list<int>);
        ALTER TABLE k.t DROP (x, y);
        """
    )
    assert table.columns == {
        "m": Collection("map", INT, INT, False),
        "w": Native("blob"),
        "x": INT,
        "y": INT,
        "z": Collection("list", None, INT, False),
    }


def test_a_table_that_was_made_again_stands_under_both_ids() -> None:
    schema = parse_schema(
        f"""
        CREATE TABLE k.t (p int PRIMARY KEY, v text) WITH ID = {ID};
        CREATE TABLE k.t (p int PRIMARY KEY, v int) WITH ID = {OTHER_ID};
        ALTER TABLE k.t ADD w int;
        """
    )
    assert schema.tables[ID].columns == {"v": TEXT}
    assert schema.tables[OTHER_ID].columns == {"v": INT, "w": INT}


@pytest.mark.parametrize("select", ["*", "v, p, k"])
def test_a_view_takes_its_types_from_the_table(select: str) -> None:
    schema = parse_schema(
        f"""
        CREATE TABLE k.t (p int, k text, v bigint, PRIMARY KEY (p, k)) WITH ID = {ID};
        CREATE MATERIALIZED VIEW k.mv AS SELECT {select} FROM k.t
            WHERE p IS NOT NULL AND k IS NOT NULL PRIMARY KEY (k, p) WITH ID = {OTHER_ID}
            AND CLUSTERING ORDER BY (p DESC);
        """
    )
    view = schema.tables[OTHER_ID]
    assert (view.name, view.partition_key, view.clustering) == ("mv", (TEXT,), (INT,))
    assert view.columns == {"v": Native("bigint")}


def test_compact_storage_hides_columns() -> None:
    rows = only_table(
        f"CREATE TABLE k.t (p int, c int, PRIMARY KEY (p, c)) WITH COMPACT STORAGE AND ID = {ID}"
    )
    assert rows.columns == {"value": Custom("org.apache.cassandra.db.marshal.EmptyType")}
    static = only_table(
        f"CREATE TABLE k.t (p int PRIMARY KEY, v int) WITH ID = {ID} AND COMPACT STORAGE"
    )
    assert static.clustering == (TEXT,)
    assert static.columns == {"v": INT, "value": Native("blob")}


def test_masks_are_passed_over() -> None:
    table = only_table(
        "CREATE TABLE k.t (p int PRIMARY KEY, v text MASKED WITH mask_inner(1, 2), w int) "
        f"WITH ID = {ID}"
    )
    assert table.columns == {"v": TEXT, "w": INT}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE TABLE k.t (p int PRIMARY KEY, v int)", "no id"),
        (f"CREATE TABLE k.t (p int) WITH ID = {ID}", "no primary key"),
        (f"CREATE TABLE k.t (p int, PRIMARY KEY (q)) WITH ID = {ID}", "'q' of k.t"),
        ("CREATE TABLE t (p int PRIMARY KEY)", "needs its keyspace"),
        ("\n\nCREATE TABLE k.t (p nope PRIMARY KEY)", "line 3: type k.nope is not known"),
        ("CREATE TABLE k.t (p bag<int> PRIMARY KEY)", "'bag'"),
        ("CREATE TABLE k.t (p int", "expected instead of the end"),
        ("ALTER TABLE k.t DROP v", "not known: k.t"),
        (f"CREATE TABLE k.t (p int PRIMARY KEY) WITH ID = {ID}; ALTER TABLE k.t DROP v", "'v'"),
        ("ALTER TYPE k.u ADD b int", "statement is not known"),
        ("DROP TABLE k.t", "statement is not known"),
    ],
)
def test_unknown_request_is_rejected(text: str, message: str) -> None:
    with pytest.raises(SchemaTextError, match=message):
        parse_schema(text)
