"""Endless random writes; some of them depend on the present state.

`workloads.random_statements` generates statements that are valid in any state and never expire.
This module turns some of them into writes to a list index, which a node rejects when the list is
shorter, and into writes that expire during the test.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cassandra import InvalidRequest

from tests.support.workloads import Table, random_statements, random_tables
from tests.support.workloads.literals import literal
from tests.support.workloads.random_tables import Column
from tests.support.workloads.scenario import Release

SHORT_TTL_S = 3
_SHARE = 0.06
_SINGLE = re.compile(r"(?:INSERT INTO|UPDATE|DELETE.* FROM) (\S+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Write:
    """One statement; `may_be_rejected`: it refers to a position in a list."""

    text: str
    may_be_rejected: bool = False


def random_writes(
    seed: int, count: int, *, keyspace: str, release: Release = (5, 0)
) -> Iterator[Write]:
    """`count` writes to `random_tables(seed)`, equal for equal seeds."""
    rng = random.Random(f"writes {seed}")
    tables = {
        table.full_name: table for table in random_tables(seed, keyspace=keyspace, release=release)
    }
    for text in random_statements(seed, count, keyspace=keyspace, release=release):
        found = _SINGLE.match(text)
        if found and rng.random() < _SHARE * 3:
            yield _other(rng, text, tables[found[1]])
        else:
            yield Write(text)


def run(session: Any, write: Write) -> bool:
    """Execute a write. Returns False for a permitted rejection; raises other errors."""
    try:
        session.execute(write.text)
    except InvalidRequest:
        if write.may_be_rejected:
            return False
        raise
    return True


def _other(rng: random.Random, text: str, table: Table) -> Write:
    """Another write, derived from this one if possible."""
    is_row = not text.startswith("INSERT") and all(
        f" {column.name} = " in text for column in table.clustering
    )
    if is_row:
        where = text.rpartition(" WHERE ")[2]
        lists = [
            column
            for column in table.regular
            if column.type.name == "list" and column.type.is_multi_cell
        ]
        if lists:
            return _in_list(rng, table.full_name, rng.choice(lists), where)
    return Write(_with_short_ttl(text))


def _in_list(rng: random.Random, table: str, column: Column, where: str) -> Write:
    place = f"{column.name}[{rng.randrange(3)}]"
    value = literal(rng, column.type.of[0])
    change = rng.choice(
        (
            f"UPDATE {table} SET {place} = {value} WHERE {where}",
            f"UPDATE {table} SET {place} = null WHERE {where}",
            f"DELETE {place} FROM {table} WHERE {where}",
        )
    )
    return Write(change, may_be_rejected=True)


def _with_short_ttl(text: str) -> str:
    # Cells that expire while others of the same time do not: compaction decides their precedence.
    if " USING " in text:
        return text
    if text.startswith("INSERT"):
        return f"{text} USING TTL {SHORT_TTL_S}"
    return text.replace(" SET ", f" USING TTL {SHORT_TTL_S} SET ", 1)
