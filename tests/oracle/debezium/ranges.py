"""Cases: clustering columns of every type, to compare keys and the text of bounds."""

from tests.oracle.debezium.case import KEYSPACE, Case, Chapter
from tests.oracle.debezium.poison import EMPTY_IS_POISON
from tests.support.workloads.cql_types import NEVER_EMPTY, SCALARS, scalar
from tests.support.workloads.literals import EDGES, empty_literal

_K = KEYSPACE
_KEY_SCALARS = tuple(name for name in SCALARS if name != "duration")
_FROZEN = {
    "list": ("frozen<list<int>>", "[1, 2]", "[3]"),
    "set": ("frozen<set<text>>", "{'a'}", "{'b', 'c'}"),
    "map": ("frozen<map<text, int>>", "{'a': 1}", "{'b': 2}"),
    "tuple": ("frozen<tuple<int, text>>", "(1, 'a')", "(2, null)"),
    "user_type": ("frozen<spot>", "{x: 1, y: 'a'}", "{x: 2, y: 'b'}"),
}
_MANY = (
    ("c_int", "int", "1", "2"),
    ("c_text", "text", "'a'", "'m'"),
    ("c_timestamp", "timestamp", "0", "1709210096789"),
    ("c_uuid", "uuid", EDGES["uuid"][0], EDGES["uuid"][2]),
    ("c_decimal", "decimal", "-1.50", "2.25"),
    ("c_date", "date", "'1970-01-01'", "'2024-02-29'"),
    ("c_boolean", "boolean", "false", "true"),
    ("c_blob", "blob", "0x00", "0xff"),
)
"""Column, type, a lower and a higher value."""


def _tables() -> tuple[str, ...]:
    tables = [f"CREATE TYPE {_K}.spot (x int, y text)"]
    for name, of in _types().items():
        for order in ("asc", "desc"):
            tables.append(
                f"CREATE TABLE {_K}.by_{name}_{order} (p int, c {of}, v int, PRIMARY KEY (p, c)) "
                f"WITH CLUSTERING ORDER BY (c {order.upper()}) AND cdc = true"
            )
    columns = ", ".join(f"{name} {of}" for name, of, _, _ in _MANY)
    names = ", ".join(name for name, *_ in _MANY)
    order = ", ".join(f"{n} {'DESC' if i % 2 else 'ASC'}" for i, (n, *_) in enumerate(_MANY))
    tables += [
        f"CREATE TABLE {_K}.by_many (p int, {columns}, v int, PRIMARY KEY (p, {names})) "
        "WITH cdc = true",
        f"CREATE TABLE {_K}.by_many_mixed (p int, {columns}, v int, PRIMARY KEY (p, {names})) "
        f"WITH CLUSTERING ORDER BY ({order}) AND cdc = true",
        f'CREATE TABLE {_K}.by_quoted (p int, "Mixed Case" int, "größe" text, v int, '
        'PRIMARY KEY (p, "Mixed Case", "größe")) WITH cdc = true',
        f"CREATE TABLE {_K}.keyed (a text, b uuid, c inet, d boolean, v int, "
        "PRIMARY KEY ((a, b, c), d)) WITH cdc = true",
    ]
    return tuple(tables)


def _types() -> dict[str, str]:
    return {name: name for name in _KEY_SCALARS} | {name: of for name, (of, *_) in _FROZEN.items()}


def _values(name: str) -> list[str]:
    if name in _FROZEN:
        return list(_FROZEN[name][1:])
    return [value for value in EDGES[name] if value not in ("''", "0x")]


def _type_cases() -> list[Case]:
    return [
        Case(f"{name} clustering {order}, {what}", texts, f"{name} clustering")
        for name in _types()
        for order in ("asc", "desc")
        for what, texts in _texts(name, f"{_K}.by_{name}_{order}").items()
    ]


def _texts(name: str, table: str) -> dict[str, tuple[str, ...]]:
    values = _values(name)
    low, high = values[0], values[1]
    insert, delete = f"INSERT INTO {table} (p, c, v) VALUES", f"DELETE FROM {table} WHERE p ="
    found: dict[str, tuple[str, ...]] = {
        "rows": tuple(f"{insert} (1, {each}, 1)" for each in values),
        "row delete": (f"{delete} 1 AND c = {low}",),
        "ranges": (
            *(f"{delete} 1 AND c > {each}" for each in values),
            *(f"{delete} 1 AND c <= {each}" for each in values),
            f"{delete} 1 AND c >= {low} AND c < {high}",
            f"{delete} 1 AND c >= {high} AND c < {low}",
        ),
    }
    if name in _KEY_SCALARS and name not in NEVER_EMPTY:
        empty = empty_literal(scalar(name))
        found["empty bound"] = (f"{delete} 2 AND c > {empty}",)
        if name not in EMPTY_IS_POISON:
            found["empty"] = (f"{insert} (2, {empty}, 1)",)
    return found


def _prefix_cases(table: str, label: str) -> list[Case]:
    names = ", ".join(name for name, *_ in _MANY)
    lows = ", ".join(low for _, _, low, _ in _MANY)
    found = {"row": f"INSERT INTO {table} (p, {names}, v) VALUES (1, {lows}, 1)"}
    for depth, (name, _, low, high) in enumerate(_MANY):
        prefix = "".join(f" AND {n} = {value}" for n, _, value, _ in _MANY[:depth])
        where = f"DELETE FROM {table} WHERE p = 1{prefix}"
        found[f"range of {name}"] = f"{where} AND {name} >= {low} AND {name} < {high}"
        found[f"open range of {name}"] = f"{where} AND {name} > {low}"
        if depth:
            found[f"prefix of {depth}"] = where
    where = "".join(f" AND {name} = {low}" for name, _, low, _ in _MANY)
    found["row delete"] = f"DELETE FROM {table} WHERE p = 1{where}"
    return [Case(f"{label}, {what}", (text,), label) for what, text in found.items()]


_QUOTED = f"{_K}.by_quoted"
_OTHERS = (
    Case(
        "mixed-case names in ranges",
        (
            f'DELETE FROM {_QUOTED} WHERE p = 1 AND "Mixed Case" > 1 AND "Mixed Case" < 5',
            f'DELETE FROM {_QUOTED} WHERE p = 1 AND "Mixed Case" = 1 AND "größe" >= \'b\'',
        ),
    ),
    Case(
        "mixed-case names in keys",
        (
            f'INSERT INTO {_QUOTED} (p, "Mixed Case", "größe", v) VALUES (1, 2, \'c\', 3)',
            f'DELETE FROM {_QUOTED} WHERE p = 1 AND "Mixed Case" = 2 AND "größe" = \'c\'',
        ),
    ),
    Case(
        "composite keys of several types",
        (
            f"INSERT INTO {_K}.keyed (a, b, c, d, v) VALUES "
            f"('', {EDGES['uuid'][2]}, '192.0.2.1', true, 1)",
            f"DELETE FROM {_K}.keyed WHERE a = 'ä' AND b = {EDGES['uuid'][0]} AND c = '::1' "
            "AND d > false",
            f"DELETE FROM {_K}.keyed WHERE a = 'ä' AND b = {EDGES['uuid'][0]} AND c = '::1'",
        ),
    ),
)

RANGES = Chapter(
    "Keys and bounds",
    _tables(),
    (
        *_type_cases(),
        *_prefix_cases(f"{_K}.by_many", "many clusterings"),
        *_prefix_cases(f"{_K}.by_many_mixed", "many clusterings in mixed order"),
        *_OTHERS,
    ),
)
