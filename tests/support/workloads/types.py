"""Every CQL type as regular, static, clustering (ascending and descending) and partition key."""

import random

from tests.support.workloads.cql_types import (
    NEVER_EMPTY,
    SCALARS,
    CqlType,
    create_type,
    list_of,
    map_of,
    scalar,
    set_of,
    tuple_of,
    user_type,
    vector_of,
)
from tests.support.workloads.literals import EDGES, empty_literal, literal
from tests.support.workloads.names import build_names
from tests.support.workloads.scenario import Release, Scenario, create_keyspace

KEYSPACE = "types"
_TEXT, _INT = scalar("text"), scalar("int")

ADDRESS = user_type(
    "address", [("street", _TEXT), ("number", _INT), ("tags", set_of(_TEXT).frozen())]
)
PERSON = user_type(
    "person",
    [
        ("name", _TEXT),
        ("home", ADDRESS.frozen()),
        ("phones", map_of(_TEXT, scalar("bigint")).frozen()),
        ("place", tuple_of(scalar("double"), scalar("double"))),
    ],
)

NESTED = (
    list_of(_TEXT),
    set_of(scalar("inet")),
    map_of(scalar("timeuuid"), scalar("decimal")),
    list_of(list_of(_INT).frozen()),
    set_of(tuple_of(_INT, _TEXT)),
    map_of(scalar("uuid"), set_of(scalar("varint")).frozen()),
    map_of(ADDRESS.frozen(), PERSON.frozen()),
    list_of(_TEXT).frozen(),
    set_of(scalar("timestamp")).frozen(),
    map_of(scalar("date"), scalar("time")).frozen(),
    list_of(scalar("duration")),
    map_of(_INT, scalar("duration")).frozen(),
    tuple_of(_INT, _TEXT, scalar("boolean")),
    tuple_of(_INT, list_of(_TEXT).frozen(), tuple_of(scalar("blob"), scalar("double"))),
    ADDRESS,
    ADDRESS.frozen(),
    PERSON,
    PERSON.frozen(),
    list_of(PERSON.frozen()),
)
_VECTORS = (
    vector_of(scalar("float"), 3),
    vector_of(_TEXT, 2),
    vector_of(scalar("varint"), 2),
    vector_of(vector_of(scalar("double"), 2), 2),
    list_of(vector_of(scalar("tinyint"), 2)),
)
_KEY_SCALARS = tuple(name for name in SCALARS if name != "duration")
_FROZEN_KEYS = (
    list_of(_INT).frozen(),
    set_of(_TEXT).frozen(),
    map_of(_TEXT, _INT).frozen(),
    tuple_of(_INT, _TEXT),
    ADDRESS.frozen(),
)
"""The user type comes last."""


def build(release: Release, seed: int) -> Scenario:
    """The recorded workload."""
    rng = random.Random(f"types {seed}")
    columns = [scalar(name) for name in SCALARS] + [*NESTED]
    keys = [scalar(name) for name in _KEY_SCALARS] + [*_FROZEN_KEYS]
    if release < (4, 0):
        keys.pop()  # It refuses literals of a user type in a descending column.
    if release >= (5, 0):
        columns += [*_VECTORS]
        keys += [*_VECTORS[:2]]
    schema = [
        create_keyspace(KEYSPACE),
        create_type(KEYSPACE, ADDRESS),
        create_type(KEYSPACE, PERSON),
    ]
    statements: list[str] = []
    _values(rng, columns, schema, statements)
    _empties(rng, schema, statements)
    for number, of in enumerate(keys):
        _keys(rng, number, of, schema, statements)
    _shapes(schema, statements)
    build_names(KEYSPACE, schema, statements)
    return Scenario("types", tuple(schema), tuple(statements))


def _values(
    rng: random.Random, columns: list[CqlType], schema: list[str], statements: list[str]
) -> None:
    """One table with every type as regular column and every fifth as static one too."""
    regular = [(f"r{number:02}", of) for number, of in enumerate(columns)]
    static = [(f"s{number:02}", of) for number, of in enumerate(columns) if number % 5 == 1]
    declared = ", ".join(
        [f"{n} {of.cql}" for n, of in regular] + [f"{n} {of.cql} STATIC" for n, of in static]
    )
    table = f"{KEYSPACE}.every"
    schema.append(
        f"CREATE TABLE {table} (p text, c int, {declared}, PRIMARY KEY (p, c)) WITH cdc = true"
    )
    for row in range(24):
        given = [pair for pair in [*regular, *static] if row < 4 or rng.random() < 0.5]
        values = [
            "null" if row == 1 or rng.random() < 0.05 else _edge(rng, of, row) for _, of in given
        ]
        names = ", ".join(["p", "c", *(name for name, _ in given)])
        statements.append(
            f"INSERT INTO {table} ({names}) VALUES ('p{row % 3}', {row}, {', '.join(values)})"
        )
    for row in range(12):
        given = [pair for pair in regular if rng.random() < 0.3]
        values = [f"{name} = {literal(rng, of)}" for name, of in given]
        statements.append(
            f"UPDATE {table} SET {', '.join(values)} WHERE p = 'p{row % 3}' AND c = {row * 2}"
        )


def _edge(rng: random.Random, of: CqlType, row: int) -> str:
    edges = EDGES.get(of.name, ())
    return edges[row] if row < len(edges) else literal(rng, of)


def _empties(rng: random.Random, schema: list[str], statements: list[str]) -> None:
    """Empty values (no bytes) of all types that have them, as value and as clustering."""
    types = [scalar(name) for name in SCALARS if name not in NEVER_EMPTY]
    table = f"{KEYSPACE}.empties"
    declared = ", ".join(f"v{number:02} {of.cql}" for number, of in enumerate(types))
    schema.append(f"CREATE TABLE {table} (p int PRIMARY KEY, {declared}) WITH cdc = true")
    names = ", ".join(f"v{number:02}" for number in range(len(types)))
    empties = ", ".join(empty_literal(of) for of in types)
    statements.append(f"INSERT INTO {table} (p, {names}) VALUES (1, {empties})")
    filled = ", ".join(literal(rng, of) for of in types)
    statements.append(f"INSERT INTO {table} (p, {names}) VALUES (1, {filled})")
    for number, of in enumerate(types):
        clustered = f"{KEYSPACE}.empty_{of.name}"
        schema.append(
            f"CREATE TABLE {clustered} (p int, a {of.cql}, d {of.cql}, v {of.cql}, "
            "PRIMARY KEY (p, a, d)) WITH CLUSTERING ORDER BY (a ASC, d DESC) AND cdc = true"
        )
        empty, other = empty_literal(of), literal(rng, of)
        for a, d in ((empty, other), (other, empty), (empty, empty)):
            statements.append(
                f"INSERT INTO {clustered} (p, a, d, v) VALUES ({number}, {a}, {d}, {empty})"
            )
        statements.append(f"DELETE FROM {clustered} WHERE p = {number} AND a = {empty}")
        statements.append(
            f"DELETE FROM {clustered} WHERE p = {number} AND a = {other} AND d <= {empty}"
        )


def _keys(
    rng: random.Random, number: int, of: CqlType, schema: list[str], statements: list[str]
) -> None:
    """A type in all three places of a key, with rows and a range in each direction."""
    table = f"{KEYSPACE}.key_{number:02}"
    schema.append(
        f"CREATE TABLE {table} (p {of.cql}, a {of.cql}, d {of.cql}, v text, PRIMARY KEY (p, a, d)) "
        "WITH CLUSTERING ORDER BY (a ASC, d DESC) AND cdc = true"
    )
    values = [*EDGES.get(of.name, ())][:6] + [literal(rng, of, nulls=False) for _ in range(3)]
    # Empty partition keys are refused, and 5.0.9 fails on an empty map in a descending column.
    refused = ("''", "0x", "{}")
    values = [value for value in values if value not in refused]
    while not values:
        values = [value for value in (literal(rng, of, nulls=False),) if value not in refused]
    partition = rng.choice(values)
    for value in values:
        statements.append(
            f"INSERT INTO {table} (p, a, d, v) VALUES "
            f"({rng.choice(values)}, {value}, {rng.choice(values)}, 'v')"
        )
    low, high = rng.choice(values), rng.choice(values)
    for where in (
        f"a >= {low} AND a < {high}",
        f"a = {low} AND d >= {high}",
        f"a = {low} AND d < {high}",
        f"a = {high} AND d = {low}",
        f"a = {high}",
    ):
        statements.append(f"DELETE FROM {table} WHERE p = {partition} AND {where}")


def _shapes(schema: list[str], statements: list[str]) -> None:
    """Composite partition keys, many clustering columns, tables without regular columns."""
    table = f"{KEYSPACE}.composite"
    schema.append(
        f"CREATE TABLE {table} (a int, b text, c blob, v int, PRIMARY KEY ((a, b, c))) "
        "WITH cdc = true"
    )
    for a, b, c in ((0, "''", "0x"), (-1, "'b'", "0x00ff"), (7, "'漢字'", "0x00")):
        statements.append(f"INSERT INTO {table} (a, b, c, v) VALUES ({a}, {b}, {c}, 1)")
    statements.append(f"DELETE FROM {table} WHERE a = -1 AND b = 'b' AND c = 0x00ff")
    names = [f"k{number:02}" for number in range(40)]
    kinds = ("int", "text", "bigint", "blob", "boolean")
    table = f"{KEYSPACE}.forty"
    schema.append(
        f"CREATE TABLE {table} (p int, v int, "
        + ", ".join(f"{name} {kinds[index % 5]}" for index, name in enumerate(names))
        + f", PRIMARY KEY (p, {', '.join(names)})) WITH CLUSTERING ORDER BY ("
        + ", ".join(f"{n} {'DESC' if i % 3 == 1 else 'ASC'}" for i, n in enumerate(names))
        + ") AND cdc = true"
    )
    values = ["-5", "''", "0", "0x", "false"]
    for row in range(3):
        given = [values[i % 5] if (i + row) % 4 else EDGES[kinds[i % 5]][1] for i in range(40)]
        statements.append(
            f"INSERT INTO {table} (p, {', '.join(names)}, v) VALUES (1, {', '.join(given)}, {row})"
        )
        for depth in (1, 31, 32, 33, 39, 40):
            where = " AND ".join(f"{n} = {g}" for n, g in zip(names[:depth], given, strict=False))
            statements.append(f"DELETE FROM {table} WHERE p = 1 AND {where}")
    table = f"{KEYSPACE}.keys_only"
    schema.append(f"CREATE TABLE {table} (p int, c int, PRIMARY KEY (p, c)) WITH cdc = true")
    schema.append(f"CREATE TABLE {KEYSPACE}.key_only (p int PRIMARY KEY) WITH cdc = true")
    statements += [
        f"INSERT INTO {table} (p, c) VALUES (1, 2)",
        f"INSERT INTO {table} (p, c) VALUES (1, 3) USING TTL 1000000",
        f"DELETE FROM {table} WHERE p = 1 AND c = 2",
        f"DELETE FROM {table} WHERE p = 1 AND c < 9",
        f"INSERT INTO {KEYSPACE}.key_only (p) VALUES (1)",
        f"DELETE FROM {KEYSPACE}.key_only WHERE p = 1",
    ]
