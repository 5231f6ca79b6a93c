"""Cases on which the peer fails: it loses the segment, the process, or all tables."""

from tests.oracle.debezium.case import POISON_KEYSPACE, Case, Chapter, written_chapter

EMPTY_IS_POISON = ("decimal", "inet", "timestamp", "timeuuid", "uuid", "varint")
"""Types whose empty value the peer cannot read."""

_K = POISON_KEYSPACE

POISON = written_chapter("What loses the rest of a segment", "poison", "segment")

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
"""Each has a separate run."""

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
"""The connector starts with a vector column in the schema."""
