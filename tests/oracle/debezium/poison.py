"""Cases with which the peer fails: it gives up the segment, the process, or all tables."""

from tests.oracle.debezium.case import POISON_KEYSPACE, Case, Chapter
from tests.support.workloads.cql_types import scalar
from tests.support.workloads.literals import empty_literal
from tests.support.workloads.scenario import batch

EMPTY_IS_POISON = ("decimal", "inet", "timestamp", "timeuuid", "uuid", "varint")
"""Types whose empty value the peer cannot read."""

_K = POISON_KEYSPACE
_EARLY, _LATE = 1_700_000_000_000_100, 1_700_000_000_000_200


def _ranges(table: str, first: str, second: str) -> str:
    return batch(
        f"DELETE FROM {table} USING TIMESTAMP {_EARLY} WHERE p = 1 AND {first}",
        f"DELETE FROM {table} USING TIMESTAMP {_LATE} WHERE p = 1 AND {second}",
    )


_SCHEMA = (
    f"CREATE TYPE {_K}.place (street text, number int)",
    f"CREATE TABLE {_K}.plain (p int, c int, v text, PRIMARY KEY (p, c)) WITH cdc = true",
    f"CREATE TABLE {_K}.descending (p int, c int, v text, PRIMARY KEY (p, c)) "
    "WITH CLUSTERING ORDER BY (c DESC) AND cdc = true",
    f"CREATE TABLE {_K}.places (p int PRIMARY KEY, a place, f frozen<place>) WITH cdc = true",
    *(
        f"CREATE TABLE {_K}.of_{name} (p int PRIMARY KEY, v {name}) WITH cdc = true"
        for name in EMPTY_IS_POISON
    ),
    f"CREATE TABLE {_K}.by_uuid (p int, c uuid, v int, PRIMARY KEY (p, c)) WITH cdc = true",
)

_CASES = (
    Case(
        "adjoining ranges with two timestamps in one batch",
        (_ranges(f"{_K}.plain", "c >= 1 AND c < 3", "c >= 3 AND c < 8"),),
    ),
    Case(
        "adjoining ranges, the first one inclusive",
        (_ranges(f"{_K}.plain", "c >= 1 AND c <= 3", "c > 3 AND c < 8"),),
    ),
    Case(
        "a range inside another",
        (_ranges(f"{_K}.plain", "c > 0 AND c < 9", "c >= 3 AND c < 4"),),
    ),
    Case(
        "adjoining ranges, DESC",
        (_ranges(f"{_K}.descending", "c >= 1 AND c < 3", "c >= 3 AND c < 8"),),
    ),
    Case(
        "user type that is not frozen, insert",
        (
            f"INSERT INTO {_K}.places (p, a, f) VALUES "
            "(1, {street: 's', number: 1}, {street: 'f', number: 2})",
        ),
    ),
    Case(
        "user type that is not frozen, one field",
        (f"UPDATE {_K}.places SET a.number = 5 WHERE p = 1",),
    ),
    Case("user type that is not frozen, deleted", (f"DELETE a FROM {_K}.places WHERE p = 1",)),
    *(
        Case(
            f"{name} empty",
            (f"INSERT INTO {_K}.of_{name} (p, v) VALUES (1, {empty_literal(scalar(name))})",),
        )
        for name in EMPTY_IS_POISON
    ),
    Case(
        "uuid clustering, empty",
        (f"INSERT INTO {_K}.by_uuid (p, c, v) VALUES (1, {empty_literal(scalar('uuid'))}, 1)",),
    ),
)

POISON = Chapter(
    "What loses the rest of a segment",
    _SCHEMA,
    tuple(Case(each.name, each.statements, loses="segment") for each in _CASES),
)

_NESTED_SETS = {
    "frozen list of sets": ("frozen<list<frozen<set<int>>>>", "[{1, 2}]"),
    "frozen set of sets": ("frozen<set<frozen<set<int>>>>", "{{1, 2}}"),
    "frozen map of sets": ("frozen<map<text, frozen<set<int>>>>", "{'a': {1, 2}}"),
}

DEADLY = tuple(
    Chapter(
        "What ends the process",
        (f"CREATE TABLE {_K}.nested_{number} (p int PRIMARY KEY, v {of}) WITH cdc = true",),
        (
            Case(
                name,
                (f"INSERT INTO {_K}.nested_{number} (p, v) VALUES (1, {value})",),
                loses="process",
            ),
        ),
    )
    for number, (name, (of, value)) in enumerate(_NESTED_SETS.items())
)
"""Each has a run of its own."""

VECTORS = Chapter(
    "What silences every table",
    (f"CREATE TABLE {_K}.vectors (p int PRIMARY KEY, v vector<float, 3>) WITH cdc = true",),
    (
        Case("vector", (f"INSERT INTO {_K}.vectors (p, v) VALUES (1, [1.0, -2.0, 3.5])",)),
        Case(
            "any table once a table with a vector exists",
            (f"INSERT INTO {_K}.plain (p, c, v) VALUES (1, 1, 'beside a vector')",),
        ),
    ),
)
"""The connector is started with a vector column in the schema."""
