"""ALTERs in quick succession with a write after each: what each row is by its own definition."""

from collections.abc import Mapping
from dataclasses import dataclass

KEYSPACE = "epochs"


@dataclass(frozen=True, slots=True)
class Step:
    """A DDL statement, and a write that follows at once, with the row that it makes: each column
    by its name at that time, and its value as JSON."""

    ddl: str
    write: str
    row: Mapping[str, object]


BEFORE = (
    f"CREATE KEYSPACE {KEYSPACE} WITH replication = "
    "{'class': 'SimpleStrategy', 'replication_factor': 1}",
    f"CREATE TYPE {KEYSPACE}.place (street text)",
)
"""Statements before the first step."""

FIRST_RUN = (
    Step(
        "CREATE TABLE t (p int, c int, v text, home frozen<place>, PRIMARY KEY (p, c)) "
        "WITH cdc = true",
        "INSERT INTO t (p, c, v, home) VALUES (1, 1, 'first', {street: 'a'})",
        {"p": 1, "c": 1, "v": "first", "home": {"street": "a"}},
    ),
    Step(
        "ALTER TABLE t ADD extra int",
        "INSERT INTO t (p, c, v, extra) VALUES (2, 1, 'second', 2)",
        {"p": 2, "c": 1, "v": "second", "extra": 2},
    ),
    Step(
        "ALTER TABLE t DROP v",
        "INSERT INTO t (p, c, extra) VALUES (3, 1, 3)",
        {"p": 3, "c": 1, "extra": 3},
    ),
    Step(
        "ALTER TABLE t ADD v blob",
        "INSERT INTO t (p, c, v) VALUES (4, 1, 0x6f6b)",
        {"p": 4, "c": 1, "v": "b2s="},
    ),
    Step(
        "ALTER TABLE t RENAME c TO place",
        "INSERT INTO t (p, place, v) VALUES (5, 1, 0x35)",
        {"p": 5, "place": 1, "v": "NQ=="},
    ),
    Step(
        "ALTER TYPE place ADD town text",
        "INSERT INTO t (p, place, home) VALUES (6, 1, {street: 'b', town: 'c'})",
        {"p": 6, "place": 1, "home": {"street": "b", "town": "c"}},
    ),
    Step(
        "COMMENT ON TABLE t IS 'only the metadata log has this'",
        "INSERT INTO t (p, place, extra) VALUES (7, 1, 7)",
        {"p": 7, "place": 1, "extra": 7},
    ),
)

SECOND_RUN = (
    Step(
        "ALTER TABLE t DROP extra",
        "INSERT INTO t (p, place, v) VALUES (8, 1, 0x38)",
        {"p": 8, "place": 1, "v": "OA=="},
    ),
    Step(
        "ALTER TABLE t ADD tags set<text>",
        "INSERT INTO t (p, place, tags) VALUES (9, 1, {'x'})",
        {"p": 9, "place": 1, "tags": ["x"]},
    ),
    Step(
        "ALTER TABLE t RENAME place TO spot",
        "INSERT INTO t (p, spot, v) VALUES (10, 1, 0x3130)",
        {"p": 10, "spot": 1, "v": "MTA="},
    ),
)
"""Steps after a restart, at which the node writes its whole schema again."""
