"""Random writes to a `SoakTable`, of every kind that CQL has."""

import random
from collections.abc import Callable, Sequence

from tests.support.workloads.cql_types import SCALARS
from tests.support.workloads.literals import literal
from tests.support.workloads.random_tables import Column
from tests.support.workloads.scenario import batch
from tests.support.workloads.soak.deletions import delete_cells, delete_range, delete_where
from tests.support.workloads.soak.tables import SoakTable
from tests.support.workloads.soak.writer import Writer, random_time_us


def random_write(writer: Writer) -> str:
    """One statement without a condition."""
    table = writer.table
    if table.is_counter:
        return _count(writer)
    kinds: list[tuple[float, Callable[[Writer], str]]] = [
        (5, insert),
        (1, lambda w: delete_where(w, w.row())),
        (0.4, lambda w: delete_where(w, " AND ".join(w.partition()))),
    ]
    if table.regular:
        kinds += [(5, update), (1.5, lambda w: delete_cells(w, w.table.regular, w.row()))]
    if table.clustering:
        kinds.append((2, delete_range))
    if table.static:
        kinds += [
            (1.5, update_static),
            (0.7, lambda w: delete_cells(w, w.table.static, " AND ".join(w.partition()))),
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
    return delete_cells(timeless, table.regular, timeless.row()) + condition


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
