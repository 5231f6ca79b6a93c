"""Random writes of every kind over `random_tables`; every statement is valid in any state."""

import random
from collections.abc import Sequence

from tests.support.workloads.cql_types import CqlType
from tests.support.workloads.literals import literal
from tests.support.workloads.random_tables import Table, random_tables, schema_statements
from tests.support.workloads.scenario import Release, Scenario, batch
from tests.support.workloads.soak.writes import Writer, random_write

_BASE_US = 1_600_000_000_000_000
_TIMES = 40
"""Explicit times are so few that ties between statements are common."""
_TTLS_S = (1_000_000, 5_000_000, 86_400 * 365)


def random_statements(
    seed: int, count: int, *, keyspace: str = "random", release: Release = (5, 0)
) -> list[str]:
    """So many writes over `random_tables(seed)`: inserts, updates and deletions of cells, elements,
    collections, rows, ranges, partitions and static columns, with TTLs, explicit times that tie,
    logged and unlogged batches over one or several tables. Equal for equal seeds, and the first
    ones of a larger count are those of a smaller."""
    tables = random_tables(seed, keyspace=keyspace, release=release)
    rng = random.Random(f"statements {seed}")
    return [_statement(rng, tables) for _ in range(count)]


def build(release: Release, seed: int) -> Scenario:
    """The recorded workload of this kind."""
    tables = random_tables(seed, keyspace="random", release=release)
    statements = random_statements(seed, 400, release=release)
    return Scenario("random", schema_statements(tables), tuple(statements))


class _Writer(Writer):
    """No expiry comes, and no value is NaN: it is not equal to itself, and rows are compared."""

    table: Table

    def value(self, of: CqlType) -> str:
        if self.rng.random() < 0.1:
            return "null"
        while "NaN" in (text := literal(self.rng, of)):
            pass
        return text

    def element(self, of: CqlType) -> str:
        """One out of a few, so that additions and removals meet."""
        return literal(random.Random(self.rng.randrange(4)), of)

    def elements(self, of: CqlType) -> str:
        element = self.element(of.of[0])
        return f"{{{element}}}" if of.name == "set" else f"[{element}]"

    def time(self) -> list[str]:
        if self.rng.random() >= self.table.explicit_times:
            return []
        return [f"TIMESTAMP {_BASE_US + self.rng.randrange(_TIMES)}"]

    def ttl(self) -> list[str]:
        return [f"TTL {self.rng.choice(_TTLS_S)}"] if self.rng.random() < 0.2 else []


def _statement(rng: random.Random, tables: Sequence[Table]) -> str:
    def single(table: Table) -> str:
        return random_write(_Writer(rng, table, has_places=False))

    if rng.random() < 0.15:
        chosen = [rng.choice(tables)] * 2 if rng.random() < 0.6 else rng.sample(tables, 2)
        parts = [single(rng.choice(chosen)) for _ in range(rng.randrange(2, 6))]
        return batch(*parts, kind=rng.choice(("", "UNLOGGED")))
    return single(rng.choice(tables))
