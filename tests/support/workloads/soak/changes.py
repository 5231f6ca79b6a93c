"""Changes of a schema between the writes."""

import random
from dataclasses import dataclass, field, replace

from tests.support.workloads.cql_types import CqlType
from tests.support.workloads.random_tables import Column
from tests.support.workloads.scenario import Release
from tests.support.workloads.soak.tables import SharedKey, SoakTable, new_column, random_table
from tests.support.workloads.soak.types import TypeSource, has_duration, random_type


@dataclass(slots=True)
class Keyspace:
    """What is in a keyspace at one moment."""

    name: str
    release: Release
    shared: SharedKey
    user_types: dict[str, CqlType]
    tables: dict[str, SoakTable] = field(default_factory=dict)
    names: int = 100
    """New columns and fields are numbered from here."""

    @property
    def source(self) -> TypeSource:
        return TypeSource(self.release, self.user_types)

    def next_number(self) -> int:
        self.names += 1
        return self.names

    def current(self) -> list[SoakTable]:
        return [table.with_types(self.user_types) for table in self.tables.values()]


@dataclass(frozen=True, slots=True)
class Change:
    """Statements that change the schema. `drops` is the table that goes with the first one."""

    statements: tuple[str, ...]
    drops: str | None = None


def random_change(rng: random.Random, keyspace: Keyspace) -> Change | None:
    """A change that the keyspace as it is allows, made in `keyspace` too; None if it allows none
    of the chosen kind."""
    kinds = (_add, _add, _drop, _drop, _add_again, _grow_type, _rename_field, _rename_key, _remake)
    return rng.choice((*kinds, _set_options))(rng, keyspace)


def _table(rng: random.Random, keyspace: Keyspace) -> SoakTable | None:
    free = [table for table in keyspace.tables.values() if table.has_plain_columns]
    return rng.choice(free) if free else None


def _add(rng: random.Random, keyspace: Keyspace) -> Change | None:
    table = _table(rng, keyspace)
    if table is None:
        return None
    is_static = bool(table.clustering) and rng.random() < 0.3
    prefix = "s" if is_static else "v"
    column = new_column(rng, keyspace.source, prefix, keyspace.next_number())
    return _added(keyspace, table, column, is_static=is_static)


def _added(keyspace: Keyspace, table: SoakTable, column: Column, *, is_static: bool) -> Change:
    keyspace.tables[table.name] = (
        replace(table, static=(*table.static, column))
        if is_static
        else replace(table, regular=(*table.regular, column))
    )
    word = " STATIC" if is_static else ""
    return Change((f"ALTER TABLE {table.full_name} ADD {column.name} {column.type.cql}{word}",))


def _drop(rng: random.Random, keyspace: Keyspace) -> Change | None:
    table = _table(rng, keyspace)
    if table is None:
        return None
    # 4.0 and later keep user types that are not frozen.
    free = [
        (each, is_static)
        for columns, is_static in ((table.regular, False), (table.static, True))
        for each in columns
        if not (each.type.fields and each.type.is_multi_cell)
    ]
    if not free:
        return None
    column, is_static = rng.choice(free)
    keyspace.tables[table.name] = replace(
        table,
        regular=tuple(each for each in table.regular if each != column),
        static=tuple(each for each in table.static if each != column),
        dropped=(*table.dropped, (column, is_static)),
    )
    return Change((f"ALTER TABLE {table.full_name} DROP {column.name}",))


def _add_again(rng: random.Random, keyspace: Keyspace) -> Change | None:
    found = [table for table in keyspace.tables.values() if table.dropped]
    if not found:
        return None
    table = rng.choice(found)
    column, is_static = rng.choice(table.dropped)
    rest = tuple(each for each in table.dropped if each[0] != column)
    return _added(keyspace, replace(table, dropped=rest), column, is_static=is_static)


def _grow_type(rng: random.Random, keyspace: Keyspace) -> Change | None:
    name = rng.choice(sorted(keyspace.user_types))
    of = keyspace.user_types[name]
    number = int(name.removeprefix("u"))
    # A type must not come to hold itself: only those before it are in reach.
    before = {each: kind for each, kind in keyspace.user_types.items() if int(each[1:]) < number}
    added = random_type(rng, TypeSource(keyspace.release, before), 1).frozen()
    if has_duration(added):
        return None  # The type may be part of a key.
    field_name = f"f{keyspace.next_number()}"
    keyspace.user_types[name] = replace(of, of=(*of.of, added), fields=(*of.fields, field_name))
    return Change((f"ALTER TYPE {keyspace.name}.{name} ADD {field_name} {added.cql}",))


def _rename_field(rng: random.Random, keyspace: Keyspace) -> Change | None:
    name = rng.choice(sorted(keyspace.user_types))
    of = keyspace.user_types[name]
    if any(_names_fields(table, name) for table in keyspace.tables.values()):
        return None
    old, new = rng.choice(of.fields), f"f{keyspace.next_number()}"
    fields = tuple(new if each == old else each for each in of.fields)
    keyspace.user_types[name] = replace(of, fields=fields)
    return Change((f"ALTER TYPE {keyspace.name}.{name} RENAME {old} TO {new}",))


def _names_fields(table: SoakTable, name: str) -> bool:
    """Whether literals of the table's keys have the type's fields in them."""

    def holds(of: CqlType) -> bool:
        return of.name == name or any(holds(each) for each in of.of)

    return any(holds(column.type) for column in (*table.partition, *table.clustering))


def _rename_key(rng: random.Random, keyspace: Keyspace) -> Change | None:
    table = _table(rng, keyspace)
    if table is None or not table.clustering:
        return None
    index, new = rng.randrange(len(table.clustering)), f"c{keyspace.next_number()}"
    old = table.clustering[index]
    columns = list(table.clustering)
    columns[index] = Column(new, old.type)
    keyspace.tables[table.name] = replace(table, clustering=tuple(columns))
    return Change((f"ALTER TABLE {table.full_name} RENAME {old.name} TO {new}",))


def _remake(rng: random.Random, keyspace: Keyspace) -> Change | None:
    """The same name with another shape and another id."""
    free = [table for table in keyspace.tables.values() if table.kind != "viewed"]
    if not free:
        return None
    old = rng.choice(free)
    new = random_table(rng, keyspace.source, keyspace.name, old.name, keyspace.shared)
    if new.kind == "viewed":
        new = replace(new, kind="plain")
    keyspace.tables[old.name] = new
    return Change((f"DROP TABLE {old.full_name}", new.create), drops=old.name)


def _set_options(rng: random.Random, keyspace: Keyspace) -> Change | None:
    table = rng.choice(list(keyspace.tables.values()))
    options = ("cdc = true", "comment = 'other'", "gc_grace_seconds = 100000")
    return Change((f"ALTER TABLE {table.full_name} WITH {rng.choice(options)}",))
