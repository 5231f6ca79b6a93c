"""Deletions of every kind: cells, rows, prefixes, ranges, partitions, statics, adjoining ranges."""

import random
from collections.abc import Iterator
from itertools import pairwise

from tests.support.workloads.scenario import Release, Scenario, batch, create_keyspace

KEYSPACE = "deletions"
_ORDERS = {
    "asc": "",
    "desc": "CLUSTERING ORDER BY (a DESC, b DESC, c DESC) AND ",
    "mixed": "CLUSTERING ORDER BY (a DESC, b ASC, c DESC) AND ",
}
_BASE_US = 1_600_000_000_000_000


def build(release: Release, seed: int) -> Scenario:
    """The recorded workload."""
    rng = random.Random(f"deletions {seed}")
    schema = [create_keyspace(KEYSPACE)]
    statements: list[str] = []
    for name, order in _ORDERS.items():
        table = f"{KEYSPACE}.{name}_order"
        schema.append(
            f"CREATE TABLE {table} (p int, a int, b text, c int, s text STATIC, v text, w int, "
            f"PRIMARY KEY (p, a, b, c)) WITH {order}cdc = true"
        )
        statements += _rows(table)
        statements += _plain(table)
        statements += _ranges(table)
        statements += _adjoining(table)
        statements += _with_rows(table)
        statements += [_random_batch(rng, table) for _ in range(12)]
    table = f"{KEYSPACE}.single"
    schema.append(f"CREATE TABLE {table} (p int PRIMARY KEY, v text, w int) WITH cdc = true")
    statements += [
        f"INSERT INTO {table} (p, v, w) VALUES (1, 'v', 1)",
        f"DELETE v FROM {table} WHERE p = 1",
        f"DELETE v, w FROM {table} WHERE p = 1",
        f"DELETE FROM {table} WHERE p = 1",
        f"DELETE FROM {table} WHERE p IN (2, 3)",
        batch(
            f"DELETE FROM {table} USING TIMESTAMP {_BASE_US} WHERE p = 4",
            f"INSERT INTO {table} (p, v) VALUES (4, 'again') USING TIMESTAMP {_BASE_US + 1}",
        ),
    ]
    statements.append(f"TRUNCATE {table}")
    return Scenario("deletions", tuple(schema), tuple(statements))


def _rows(table: str) -> list[str]:
    return [
        batch(
            *(
                f"INSERT INTO {table} (p, a, b, c, v, w) VALUES (1, {a}, '{b}', {c}, 'v', {a})"
                for a in range(5)
                for b in "xyz"
                for c in range(4)
            ),
            kind="UNLOGGED",
        ),
        f"INSERT INTO {table} (p, a, b, c, s) VALUES (1, 9, 'q', 9, 'static')",
    ]


def _delete(table: str, where: str, *, what: str = "", time_us: int | None = None) -> str:
    using = "" if time_us is None else f" USING TIMESTAMP {time_us}"
    return f"DELETE{' ' + what if what else ''} FROM {table}{using} WHERE p = 1{where}"


def _plain(table: str) -> list[str]:
    row = " AND a = 0 AND b = 'x' AND c = 0"
    return [
        _delete(table, row, what="v"),
        _delete(table, row, what="v, w"),
        _delete(table, row),
        _delete(table, row, time_us=_BASE_US),
        _delete(table, " AND a = 1 AND b = 'x' AND c IN (0, 2, 3)"),
        _delete(table, "", what="s"),
        _delete(table, ""),
    ]


def _ranges(table: str) -> list[str]:
    found = [_delete(table, " AND a = 1"), _delete(table, " AND a = 1 AND b = 'y'")]
    for prefix, column, low, high in (
        ("", "a", "1", "3"),
        (" AND a = 2", "b", "'x'", "'z'"),
        (" AND a = 2 AND b = 'y'", "c", "0", "2"),
    ):
        found += [_delete(table, f"{prefix} AND {column} {op} {low}") for op in ("<", "<=")]
        found += [_delete(table, f"{prefix} AND {column} {op} {high}") for op in (">", ">=")]
        found += [
            _delete(table, f"{prefix} AND {column} {low_op} {low} AND {column} {high_op} {high}")
            for low_op in (">", ">=")
            for high_op in ("<", "<=")
        ]
        found.append(_delete(table, f"{prefix} AND {column} >= {low} AND {column} <= {low}"))
    return found


def _adjoining(table: str) -> Iterator[str]:
    """Ranges that meet, with other times: both kinds of boundary markers."""
    pieces = [
        " AND a < 1",
        " AND a >= 1 AND a < 2",
        " AND a >= 2 AND a <= 3",
        " AND a > 3 AND a < 6",
        " AND a >= 6",
    ]
    for left, right in pairwise(pieces):
        yield batch(
            _delete(table, left, time_us=_BASE_US), _delete(table, right, time_us=_BASE_US + 1)
        )
    yield batch(*(_delete(table, each, time_us=_BASE_US + 9 - i) for i, each in enumerate(pieces)))
    yield batch(
        _delete(table, " AND a = 1 AND b < 'm'", time_us=_BASE_US),
        _delete(table, " AND a = 1 AND b >= 'm'", time_us=_BASE_US + 1),
        _delete(table, " AND a = 1 AND b = 'm' AND c > 5", time_us=_BASE_US + 2),
        _delete(table, " AND a = 2", time_us=_BASE_US + 3),
    )
    # One inside the other: the inner one closes and opens the outer one again.
    yield batch(
        _delete(table, " AND a > 0 AND a < 9", time_us=_BASE_US),
        _delete(table, " AND a = 4", time_us=_BASE_US + 5),
        _delete(table, " AND a = 5 AND b = 'x'", time_us=_BASE_US - 5),
    )


def _with_rows(table: str) -> list[str]:
    def insert(a: int, time_us: int) -> str:
        return (
            f"INSERT INTO {table} (p, a, b, c, v) VALUES (1, {a}, 'x', 0, 'new') "
            f"USING TIMESTAMP {time_us}"
        )

    row = " AND a = {} AND b = 'x' AND c = 0"
    return [
        batch(_delete(table, row.format(7), time_us=_BASE_US), insert(7, _BASE_US + 1)),
        batch(
            _delete(table, row.format(7)),
            f"UPDATE {table} SET w = 1 WHERE p = 1{row.format(7)}",
        ),
        batch(
            _delete(table, "", time_us=_BASE_US), insert(1, _BASE_US + 1), insert(2, _BASE_US + 1)
        ),
        batch(
            _delete(table, " AND a >= 1 AND a < 4", time_us=_BASE_US),
            insert(1, _BASE_US + 1),
            insert(2, _BASE_US + 1),
            insert(4, _BASE_US + 1),
        ),
        batch(
            _delete(table, "", time_us=_BASE_US),
            f"UPDATE {table} USING TIMESTAMP {_BASE_US + 1} SET s = 'again' WHERE p = 1",
            _delete(table, " AND a > 3", time_us=_BASE_US + 2),
            insert(9, _BASE_US + 3),
            _delete(table, row.format(8), time_us=_BASE_US + 4),
        ),
    ]


def _random_batch(rng: random.Random, table: str) -> str:
    """Overlapping ranges, rows and partitions with times that tie."""
    parts = []
    for _ in range(rng.randrange(2, 9)):
        time_us = _BASE_US + rng.randrange(4)
        low, high = sorted((rng.randrange(6), rng.randrange(6)))
        parts.append(
            rng.choice(
                (
                    _delete(table, f" AND a = {low}", time_us=time_us),
                    _delete(table, f" AND a >= {low} AND a < {high + 1}", time_us=time_us),
                    _delete(table, f" AND a > {low} AND a <= {high + 1}", time_us=time_us),
                    _delete(table, f" AND a = {low} AND b >= 'm'", time_us=time_us),
                    _delete(table, f" AND a = {low} AND b = 'x' AND c < {high}", time_us=time_us),
                    _delete(table, f" AND a = {low} AND b = 'x' AND c = 0", time_us=time_us),
                    f"INSERT INTO {table} (p, a, b, c, v) VALUES (1, {low}, 'x', {high}, 'r') "
                    f"USING TIMESTAMP {time_us}",
                )
            )
        )
    return batch(*parts, kind="UNLOGGED")
