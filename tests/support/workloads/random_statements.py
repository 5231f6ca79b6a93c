"""Random writes of every kind over `random_tables`; every statement is valid in any state."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.support.workloads.cql_types import CqlType
from tests.support.workloads.literals import EDGES, literal
from tests.support.workloads.random_tables import Column, Table, random_tables, schema_statements
from tests.support.workloads.scenario import Release, Scenario, batch

_BASE_US = 1_600_000_000_000_000
_TIMES = 40
"""Explicit times are so few that ties between statements are common."""
_PARTITIONS = 5
_NOT_IN_KEYS = ("''", "0x", "0.0")
"""Empty values may not be partition keys; 0.0 and 0 are one clustering under two spellings, of
which Cassandra shows whichever it met first."""
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
    pools = {table.name: _pool(random.Random(f"{seed} {table.name}"), table) for table in tables}
    return [_statement(rng, tables, pools) for _ in range(count)]


def build(release: Release, seed: int) -> Scenario:
    """The recorded workload of this kind."""
    tables = random_tables(seed, keyspace="random", release=release)
    statements = random_statements(seed, 400, release=release)
    return Scenario("random", schema_statements(tables), tuple(statements))


@dataclass(frozen=True, slots=True)
class _Pool:
    """The few keys of a table, so that statements meet."""

    partitions: tuple[tuple[str, ...], ...]
    clusterings: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class _Writer:
    """What the statements of one table are made from."""

    rng: random.Random
    table: Table
    pool: _Pool

    def partition(self) -> list[str]:
        values = self.rng.choice(self.pool.partitions)
        return [f"{c.name} = {v}" for c, v in zip(self.table.partition, values, strict=True)]

    def clustering(self, count: int) -> list[str]:
        pairs = zip(self.table.clustering[:count], self.pool.clusterings, strict=False)
        return [f"{column.name} = {self.rng.choice(values)}" for column, values in pairs]

    def row(self) -> str:
        return " AND ".join(self.partition() + self.clustering(len(self.table.clustering)))

    def time(self) -> list[str]:
        if self.rng.random() >= self.table.explicit_times:
            return []
        return [f"TIMESTAMP {_BASE_US + self.rng.randrange(_TIMES)}"]

    def ttl(self) -> list[str]:
        return [f"TTL {self.rng.choice(_TTLS_S)}"] if self.rng.random() < 0.2 else []


def _using(options: Sequence[str]) -> str:
    return f" USING {' AND '.join(options)}" if options else ""


def _statement(rng: random.Random, tables: Sequence[Table], pools: dict[str, _Pool]) -> str:
    if rng.random() < 0.15:
        chosen = [rng.choice(tables)] * 2 if rng.random() < 0.6 else rng.sample(tables, 2)
        parts = [_single(rng, rng.choice(chosen), pools) for _ in range(rng.randrange(2, 6))]
        return batch(*parts, kind=rng.choice(("", "UNLOGGED")))
    return _single(rng, rng.choice(tables), pools)


def _single(rng: random.Random, table: Table, pools: dict[str, _Pool]) -> str:
    writer = _Writer(rng, table, pools[table.name])
    kinds: list[tuple[float, Callable[[_Writer], str]]] = [
        (4, _insert),
        (1, _delete_row),
        (0.5, _delete_partition),
    ]
    if table.regular:
        kinds += [(4, _update), (1, _delete_cells)]
    if table.clustering:
        kinds += [(1, _delete_range)]
    if table.static:
        kinds += [(1, _update_static), (0.4, _delete_static)]
    (kind,) = rng.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])
    return kind(writer)


def _insert(writer: _Writer) -> str:
    table, rng = writer.table, writer.rng
    given = _some(rng, table.regular) + (_some(rng, table.static) if rng.random() < 0.3 else [])
    names = [c.name for c in (*table.partition, *table.clustering, *given)]
    values = [
        *rng.choice(writer.pool.partitions),
        *(rng.choice(each) for each in writer.pool.clusterings),
        *(_value(rng, column.type) for column in given),
    ]
    return (
        f"INSERT INTO {table.full_name} ({', '.join(names)}) VALUES ({', '.join(values)})"
        f"{_using(writer.time() + writer.ttl())}"
    )


def _update(writer: _Writer) -> str:
    columns = _some(writer.rng, writer.table.regular) or [writer.table.regular[0]]
    return _set(writer, columns, writer.row())


def _update_static(writer: _Writer) -> str:
    columns = _some(writer.rng, writer.table.static) or [writer.table.static[0]]
    return _set(writer, columns, " AND ".join(writer.partition()))


def _set(writer: _Writer, columns: Sequence[Column], where: str) -> str:
    assignments = ", ".join(_assignment(writer.rng, column) for column in columns)
    using = _using(writer.time() + writer.ttl())
    return f"UPDATE {writer.table.full_name}{using} SET {assignments} WHERE {where}"


def _assignment(rng: random.Random, column: Column) -> str:
    name, of = column.name, column.type
    if of.is_multi_cell and rng.random() < 0.6:
        if of.fields:
            index = rng.randrange(len(of.fields))
            return f"{name}.{of.fields[index]} = {_value(rng, of.of[index])}"
        if of.name == "map":
            key, value = (_stable(rng, each) for each in of.of)
            removed = f"{name} = {name} - {{{key}}}"
            return rng.choice(
                (f"{name}[{key}] = {value}", f"{name} = {name} + {{{key}: {value}}}", removed)
            )
        element = _stable(rng, of.of[0])
        if of.name == "set":
            return f"{name} = {name} {rng.choice('+-')} {{{element}}}"
        added = (f"{name} = {name} + [{element}]", f"{name} = [{element}] + {name}")
        return rng.choice((*added, f"{name} = {name} - [{element}]"))
    return f"{name} = {_value(rng, of)}"


def _delete_cells(writer: _Writer) -> str:
    targets = [_target(writer.rng, column) for column in _some(writer.rng, writer.table.regular)]
    targets = targets or [_target(writer.rng, writer.table.regular[-1])]
    return _delete(writer, writer.row(), ", ".join(targets))


def _delete_static(writer: _Writer) -> str:
    targets = [_target(writer.rng, column) for column in _some(writer.rng, writer.table.static)]
    targets = targets or [writer.table.static[0].name]
    return _delete(writer, " AND ".join(writer.partition()), ", ".join(targets))


def _target(rng: random.Random, column: Column) -> str:
    if column.type.is_multi_cell and rng.random() < 0.5:
        if column.type.fields:
            return f"{column.name}.{rng.choice(column.type.fields)}"
        if column.type.name in ("map", "set"):
            return f"{column.name}[{_stable(rng, column.type.of[0])}]"
    return column.name


def _delete_row(writer: _Writer) -> str:
    return _delete(writer, writer.row())


def _delete_partition(writer: _Writer) -> str:
    return _delete(writer, " AND ".join(writer.partition()))


def _delete_range(writer: _Writer) -> str:
    rng, table = writer.rng, writer.table
    depth = rng.randrange(len(table.clustering))
    where = writer.partition() + writer.clustering(depth)
    column, values = table.clustering[depth], writer.pool.clusterings[depth]
    choice = rng.random()
    if choice < 0.2 and depth > 0:
        return _delete(writer, " AND ".join(where))
    if choice < 0.6:
        where.append(f"{column.name} {rng.choice(('<', '<=', '>', '>='))} {rng.choice(values)}")
    else:
        where.append(f"{column.name} {rng.choice(('>', '>='))} {rng.choice(values)}")
        where.append(f"{column.name} {rng.choice(('<', '<='))} {rng.choice(values)}")
    return _delete(writer, " AND ".join(where))


def _delete(writer: _Writer, where: str, targets: str = "") -> str:
    what = f" {targets}" if targets else ""
    return f"DELETE{what} FROM {writer.table.full_name}{_using(writer.time())} WHERE {where}"


def _some(rng: random.Random, columns: Sequence[Column]) -> list[Column]:
    return [column for column in columns if rng.random() < 0.4]


def _value(rng: random.Random, of: CqlType) -> str:
    return "null" if rng.random() < 0.1 else _finite(rng, of)


def _finite(rng: random.Random, of: CqlType) -> str:
    """NaN is left out: it is not equal to itself, and these rows are compared."""
    while "NaN" in (text := literal(rng, of)):
        pass
    return text


def _stable(rng: random.Random, of: CqlType) -> str:
    """An element out of a few, so that additions and removals meet."""
    return literal(random.Random(rng.randrange(4)), of)


def _pool(rng: random.Random, table: Table) -> _Pool:
    return _Pool(
        tuple(
            tuple(_key(rng, column.type, index) for column in table.partition)
            for index in range(_PARTITIONS)
        ),
        tuple(
            tuple(dict.fromkeys(_key(rng, column.type, index) for index in range(5)))
            for column in table.clustering
        ),
    )


def _key(rng: random.Random, of: CqlType, index: int) -> str:
    edges = [text for text in EDGES[of.name] if text not in _NOT_IN_KEYS]
    if index < min(3, len(edges)):
        return edges[index]
    while (text := literal(rng, of)) in _NOT_IN_KEYS:
        pass
    return text
