"""Random writes to a `SoakTable`, of every kind that CQL has."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.support.workloads.cql_types import NEVER_EMPTY, SCALARS, CqlType
from tests.support.workloads.literals import empty_literal, literal
from tests.support.workloads.random_tables import Column, TableShape
from tests.support.workloads.scenario import batch
from tests.support.workloads.soak.tables import SoakTable

_BASE_US = 1_600_000_000_000_000
_EXTREMES_US = (0, 1, -1, 1 << 53, 4_000_000_000_000_000, (1 << 63) - 1, -(1 << 63) + 1)
_TTLS_S = (0, 1, 60, 86_400, 1_000_000, 300_000_000)
_LONGEST_TTL_S = 630_720_000


@dataclass(frozen=True, slots=True)
class Writer:
    """Makes the statements of one table. `is_timed`: statements may carry their own times, which
    those of a conditional batch, or of a batch with a time, may not."""

    rng: random.Random
    table: TableShape
    is_far: bool = False
    is_timed: bool = True
    has_places: bool = True
    """Whether writes name places in lists, which a node rejects when the list is shorter."""

    def partition(self) -> list[str]:
        values = self.rng.choice(self.table.partitions)
        return [f"{c.name} = {v}" for c, v in zip(self.table.partition, values, strict=True)]

    def clustering(self, count: int) -> list[str]:
        pairs = zip(self.table.clustering[:count], self.table.clusterings, strict=False)
        return [f"{column.name} = {self.rng.choice(values)}" for column, values in pairs]

    def row(self) -> str:
        return " AND ".join(self.partition() + self.clustering(len(self.table.clustering)))

    def value(self, of: CqlType) -> str:
        """A literal, null, or an empty value where the type has one."""
        choice = self.rng.random()
        if choice < 0.1:
            return "null"
        if choice < 0.14 and of.name in SCALARS and of.name not in NEVER_EMPTY:
            return empty_literal(of)
        if choice < 0.143 and of.name in ("blob", "text"):
            # Longer than a length of two bytes can say, now and then than what is read at once.
            most = (20_000, 90_000) if choice < 0.142 else (1 << 20, 5 << 19)
            size = self.rng.randrange(*most)
            return f"0x{self.rng.randbytes(size).hex()}" if of.name == "blob" else f"'{'x' * size}'"
        return literal(self.rng, of)

    def element(self, of: CqlType) -> str:
        """A key or an element of a collection."""
        return literal(self.rng, of)

    def elements(self, of: CqlType) -> str:
        """What is added to a set or a list, or removed from it."""
        return literal(self.rng, of)

    def time(self) -> list[str]:
        assert isinstance(self.table, SoakTable)
        time_us = random_time_us(self.rng, self.table.times)
        return [] if time_us is None or not self.is_timed else [f"TIMESTAMP {time_us}"]

    def ttl(self) -> list[str]:
        if self.rng.random() >= 0.2:
            return []
        return [f"TTL {self.rng.choice((*_TTLS_S, _LONGEST_TTL_S) if self.is_far else _TTLS_S)}"]

    def using(self, *, ttl: bool = True) -> str:
        options = self.time() + (self.ttl() if ttl else [])
        return f" USING {' AND '.join(options)}" if options else ""


def random_time_us(rng: random.Random, times: str) -> int | None:
    """A write time; None is the node's clock."""
    if times == "clock" or rng.random() < 0.2:
        return None
    if times == "ties":
        return _BASE_US + rng.randrange(12)
    choice = rng.random()
    if choice < 0.2:
        return rng.randrange(-(1 << 63) + 1, 1 << 63)
    return rng.choice(_EXTREMES_US)


def random_write(writer: Writer) -> str:
    """One statement without a condition."""
    table = writer.table
    if table.is_counter:
        return _count(writer)
    kinds: list[tuple[float, Callable[[Writer], str]]] = [
        (5, insert),
        (1, lambda w: _delete_where(w, w.row())),
        (0.4, lambda w: _delete_where(w, " AND ".join(w.partition()))),
    ]
    if table.regular:
        kinds += [(5, update), (1.5, lambda w: _delete_cells(w, w.table.regular, w.row()))]
    if table.clustering:
        kinds.append((2, _delete_range))
    if table.static:
        kinds += [
            (1.5, update_static),
            (0.7, lambda w: _delete_cells(w, w.table.static, " AND ".join(w.partition()))),
        ]
    (kind,) = writer.rng.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])
    return kind(writer)


def random_conditional(writer: Writer) -> str:
    """A lightweight transaction, applied or not."""
    rng, table = writer.rng, writer.table
    timeless = Writer(rng, table, writer.is_far, is_timed=False)
    plain = [each for each in table.regular if each.type.name in SCALARS]
    choice = rng.random()
    if choice < 0.4 or not table.regular:
        return insert(timeless, condition=" IF NOT EXISTS")
    if choice < 0.6 or not plain:
        return update(timeless) + " IF EXISTS"
    column = rng.choice(plain)
    operator = rng.choice(("=", "!=", "<", ">="))
    value = "null" if operator in ("=", "!=") else literal(rng, column.type)
    condition = f" IF {column.name} {operator} {value}"
    if choice < 0.9:
        return update(timeless) + condition
    return _delete_cells(timeless, table.regular, timeless.row()) + condition


def random_batch(rng: random.Random, tables: Sequence[SoakTable], *, is_far: bool) -> str:
    """A batch over some of the tables: logged or not, timed as a whole or by statement; counters
    only among themselves."""
    counters = [table for table in tables if table.is_counter]
    others = [table for table in tables if not table.is_counter]
    if counters and (not others or rng.random() < 0.15):
        parts = [_count(Writer(rng, rng.choice(counters), is_far)) for _ in range(4)]
        # A batch of counters takes no deletions.
        updates = [part for part in parts if part.startswith("UPDATE")]
        return batch(*updates, kind="COUNTER") if updates else parts[0]
    using = ""
    if rng.random() < 0.3:
        time_us = random_time_us(rng, rng.choice(("ties", "extremes")))
        using = "" if time_us is None else f"USING TIMESTAMP {time_us}"
    chosen = [rng.choice(others)] if rng.random() < 0.5 else others
    parts = [
        random_write(Writer(rng, rng.choice(chosen), is_far, is_timed=not using))
        for _ in range(rng.randrange(2, 9))
    ]
    return batch(*parts, kind=rng.choice(("", "UNLOGGED")), using=using)


def insert(writer: Writer, condition: str = "") -> str:
    table, rng = writer.table, writer.rng
    given = _some(rng, table.regular) + (_some(rng, table.static) if rng.random() < 0.3 else [])
    names = [c.name for c in (*table.partition, *table.clustering, *given)]
    values = [
        *rng.choice(table.partitions),
        *(rng.choice(each) for each in table.clusterings),
        *(writer.value(column.type) for column in given),
    ]
    return (
        f"INSERT INTO {table.full_name} ({', '.join(names)}) VALUES ({', '.join(values)})"
        f"{condition}{writer.using()}"
    )


def update(writer: Writer) -> str:
    columns = _some(writer.rng, writer.table.regular) or [writer.rng.choice(writer.table.regular)]
    return _set(writer, columns, writer.row())


def update_static(writer: Writer) -> str:
    columns = _some(writer.rng, writer.table.static) or [writer.rng.choice(writer.table.static)]
    return _set(writer, columns, " AND ".join(writer.partition()))


def _count(writer: Writer) -> str:
    rng, table = writer.rng, writer.table
    is_static = bool(table.static) and rng.random() < 0.3
    column = rng.choice(table.static if is_static else table.regular)
    where = " AND ".join(writer.partition()) if is_static else writer.row()
    choice = rng.random()
    if choice < 0.08:
        return f"DELETE {column.name} FROM {table.full_name} WHERE {where}"
    if choice < 0.14:
        return f"DELETE FROM {table.full_name} WHERE {where}"
    step = rng.choice((1, 2, 1_000_000, (1 << 63) - 1, rng.getrandbits(40)))
    return (
        f"UPDATE {table.full_name} SET {column.name} = {column.name} {rng.choice('+-')} {step} "
        f"WHERE {where}"
    )


def _set(writer: Writer, columns: Sequence[Column], where: str) -> str:
    assignments = ", ".join(_assignment(writer, column) for column in columns)
    return f"UPDATE {writer.table.full_name}{writer.using()} SET {assignments} WHERE {where}"


def _assignment(writer: Writer, column: Column) -> str:
    name, of, rng = column.name, column.type, writer.rng
    if not of.is_multi_cell or rng.random() < 0.4:
        return f"{name} = {writer.value(of)}"
    if of.fields:
        index = rng.randrange(len(of.fields))
        return f"{name}.{of.fields[index]} = {writer.value(of.of[index])}"
    if of.name == "map":
        key, element = (writer.element(each) for each in of.of)
        removed = f"{name} = {name} - {{{key}}}"
        put = f"{name}[{key}] = {writer.value(of.of[1])}"
        return rng.choice((put, f"{name} = {name} + {{{key}: {element}}}", removed))
    elements = writer.elements(of)
    if of.name == "set":
        return f"{name} = {name} {rng.choice('+-')} {elements}"
    forms = [f"{name} = {name} + {elements}", f"{name} = {elements} + {name}"] * 2
    if writer.has_places:
        forms.append(f"{name}[0] = {writer.element(of.of[0])}")
    return rng.choice([*forms, f"{name} = {name} - {elements}"])


def _some(rng: random.Random, columns: Sequence[Column]) -> list[Column]:
    share = rng.choice((0.05, 0.4, 0.4, 0.9, 1.0))
    return [column for column in columns if rng.random() < share]


def _delete_where(writer: Writer, where: str, targets: str = "") -> str:
    """A deletion of what `where` says, or of the targets in it."""
    what = f" {targets}" if targets else ""
    return f"DELETE{what} FROM {writer.table.full_name}{writer.using(ttl=False)} WHERE {where}"


def _delete_cells(writer: Writer, columns: Sequence[Column], where: str) -> str:
    """Columns, elements or fields of some of the columns."""
    chosen = writer.rng.sample(columns, min(len(columns), writer.rng.choice((1, 1, 2, 5, 70))))
    return _delete_where(writer, where, ", ".join(_target(writer, each) for each in chosen))


def _target(writer: Writer, column: Column) -> str:
    if column.type.is_multi_cell and writer.rng.random() < 0.5:
        if column.type.fields:
            return f"{column.name}.{writer.rng.choice(column.type.fields)}"
        if column.type.name in ("map", "set"):
            return f"{column.name}[{writer.element(column.type.of[0])}]"
    return column.name


def _delete_range(writer: Writer) -> str:
    """A prefix, or everything on one side of a bound or between two."""
    rng, table = writer.rng, writer.table
    depth = rng.randrange(len(table.clustering))
    where = writer.partition() + writer.clustering(depth)
    choice = rng.random()
    if choice < 0.15 and depth > 0:
        return _delete_where(writer, " AND ".join(where))
    if choice < 0.3 and depth > 0:
        return _delete_where(writer, " AND ".join([*writer.partition(), *_tuples(writer)]))
    column, values = table.clustering[depth], table.clusterings[depth]
    if choice < 0.4 and len(set(values)) > 1:
        where.append(f"{column.name} IN ({', '.join(dict.fromkeys(values[:2]))})")
    elif choice < 0.7:
        where.append(f"{column.name} {rng.choice(('<', '<=', '>', '>='))} {rng.choice(values)}")
    else:
        where.append(f"{column.name} {rng.choice(('>', '>='))} {rng.choice(values)}")
        where.append(f"{column.name} {rng.choice(('<', '<='))} {rng.choice(values)}")
    return _delete_where(writer, " AND ".join(where))


def _tuples(writer: Writer) -> list[str]:
    """Bounds over the first columns together; in mixed orders one bound makes several ranges."""
    rng, table = writer.rng, writer.table
    count = rng.randrange(1, min(len(table.clustering), 3) + 1)
    names = ", ".join(each.name for each in table.clustering[:count])

    def bound(operators: tuple[str, str]) -> str:
        values = ", ".join(rng.choice(each) for each in table.clusterings[:count])
        return f"({names}) {rng.choice(operators)} ({values})"

    low, high = bound((">", ">=")), bound(("<", "<="))
    return rng.choice(([low], [high], [low, high]))
