"""Random writes to a table before, during and after a bad deploy, for a real node.

Each write has a write time of its own. The table `expected` has the same columns and receives only
the writes that count, so Cassandra itself tells what a rebuilt table shows.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

COLUMNS = """p int, c int, st text static, v int, w text, l list<int>, s set<text>,
    m map<text, int>, u point, f frozen<list<int>>, b blob, d decimal, at timestamp,
    PRIMARY KEY (p, c)"""
SCHEMA = (
    "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TYPE shop.point (x int, y text)",
    f"CREATE TABLE shop.live ({COLUMNS}) WITH cdc = true",
    f"CREATE TABLE shop.expected ({COLUMNS})",
)
_LONG_TTL_S = 100_000


@dataclass(frozen=True, slots=True)
class Write:
    """A statement with `{table}` and `{using}`."""

    text: str
    ttl_s: int | None
    ts_us: int

    def to(self, table: str) -> str:
        using = f"USING TIMESTAMP {self.ts_us}"
        if self.ttl_s is not None:
            using += f" AND TTL {self.ttl_s}"
        return self.text.format(table=table, using=using)


def writes(rng: random.Random, count: int, start_us: int) -> Iterator[Write]:
    """Writes of all kinds, a millisecond apart from `start_us` on."""
    for number in range(count):
        text = rng.choice(_KINDS)(rng)
        may_expire = not text.startswith("DELETE") and rng.random() < 0.3
        yield Write(text, _LONG_TTL_S if may_expire else None, start_us + 1000 * number)


def _where(rng: random.Random) -> str:
    return f"WHERE p = {rng.randrange(6)} AND c = {rng.randrange(5)}"


def _set(assignment: Callable[[random.Random], str]) -> Callable[[random.Random], str]:
    return lambda rng: f"UPDATE {{table}} {{using}} SET {assignment(rng)} {_where(rng)}"


def _delete(what: str) -> Callable[[random.Random], str]:
    return lambda rng: f"DELETE {what} FROM {{table}} {{using}} {_where(rng)}"


def _insert(rng: random.Random) -> str:
    return (
        "INSERT INTO {table} (p, c, st, v, w, l, s, m, u, f, b, d, at) VALUES "
        f"({rng.randrange(6)}, {rng.randrange(5)}, {_text(rng)}, {rng.randrange(9)}, {_text(rng)}, "
        f"[{rng.randrange(9)}, {rng.randrange(9)}], {{{{{_text(rng)}}}}}, "
        f"{{{{{_text(rng)}: 1, 'k': 2}}}}, {{{{x: 1, y: {_text(rng)}}}}}, [3, 1], 0x00ff, 1.50, "
        "1709210096789) {using}"
    )


def _text(rng: random.Random) -> str:
    return rng.choice(("'a'", "'it''s'", "'ä😀'", "'line\nbreak'", "''"))


_KINDS: tuple[Callable[[random.Random], str], ...] = (
    _insert,
    _insert,
    lambda rng: (
        f"INSERT INTO {{table}} (p, c) VALUES ({rng.randrange(6)}, {rng.randrange(5)}) {{using}}"
    ),
    _set(lambda rng: f"v = {rng.randrange(9)}"),
    _set(lambda rng: f"w = {_text(rng)}"),
    _set(lambda _: "v = null, w = null"),
    _set(lambda rng: f"l = l + [{rng.randrange(9)}]"),
    _set(lambda rng: f"l = [{rng.randrange(9)}] + l"),
    _set(lambda rng: f"l = [{rng.randrange(9)}]"),
    _set(lambda rng: f"s = s + {{{{{_text(rng)}}}}}"),
    _set(lambda rng: f"s = s - {{{{{_text(rng)}}}}}"),
    _set(lambda rng: f"m[{_text(rng)}] = {rng.randrange(9)}"),
    _set(lambda rng: f"m = {{{{'z': {rng.randrange(9)}}}}}"),
    _set(lambda rng: f"u.x = {rng.randrange(9)}"),
    _delete("v"),
    _delete("m['k']"),
    _delete("l, u"),
    _delete(""),
    lambda rng: f"UPDATE {{table}} {{using}} SET st = {_text(rng)} WHERE p = {rng.randrange(6)}",
    lambda rng: f"DELETE st FROM {{table}} {{using}} WHERE p = {rng.randrange(6)}",
    lambda rng: (
        f"DELETE FROM {{table}} {{using}} WHERE p = {rng.randrange(6)} AND c > {rng.randrange(5)}"
    ),
    lambda rng: f"DELETE FROM {{table}} {{using}} WHERE p = {rng.randrange(6)}",
)
