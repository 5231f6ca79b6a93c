"""Columns of typed tables as SQL, and the changes that bring existing columns up to date. Pure."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from spark_jobs.column_names import children
from spark_jobs.errors import JobError

Columns = Mapping[str, DataType]
"""Types by column name, in order."""
Path = tuple[str, ...]
"""The names that lead to a field. `element`, `key` and `value` lead into arrays and maps."""


@dataclass(frozen=True, slots=True)
class Add:
    """Adds a column, or a field of a struct."""

    path: Path
    type: DataType


@dataclass(frozen=True, slots=True)
class Drop:
    path: Path


@dataclass(frozen=True, slots=True)
class Rename:
    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class Widen:
    path: Path
    before: DataType
    type: DataType


ColumnChange = Add | Drop | Rename | Widen


class ColumnChangeError(JobError):
    """The format cannot change the column of an existing table."""

    exit_code = 2


def quoted(*names: str) -> str:
    """Quote an SQL name with one or several parts."""
    return ".".join("`{}`".format(name.replace("`", "``")) for name in names)


def sql_type(kind: DataType) -> str:
    """Format a type for SQL. Field names are quoted, unlike in `DataType.simpleString`."""
    if isinstance(kind, ArrayType):
        return f"ARRAY<{sql_type(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"MAP<{sql_type(kind.keyType)}, {sql_type(kind.valueType)}>"
    if isinstance(kind, StructType):
        fields = ", ".join(f"{quoted(each.name)}: {sql_type(each.dataType)}" for each in kind)
        return f"STRUCT<{fields}>"
    return kind.simpleString().upper()


def sql_columns(columns: Columns) -> str:
    """Format the columns of a CREATE TABLE statement."""
    return ", ".join(f"{quoted(name)} {sql_type(kind)}" for name, kind in columns.items())


def mapped(kind: DataType, scalar: Callable[[DataType], DataType]) -> DataType:
    """Replace the scalar types in a type, at any depth. All values become nullable."""
    if isinstance(kind, ArrayType):
        return ArrayType(mapped(kind.elementType, scalar))
    if isinstance(kind, MapType):
        return MapType(mapped(kind.keyType, scalar), mapped(kind.valueType, scalar))
    if isinstance(kind, StructType):
        return StructType(
            [StructField(each.name, mapped(each.dataType, scalar)) for each in kind.fields]
        )
    return scalar(kind)


def nullable(columns: StructType) -> dict[str, DataType]:
    """The types of columns, without NOT NULL constraints."""
    return {each.name: mapped(each.dataType, lambda scalar: scalar) for each in columns.fields}


def column_changes(
    existing: Columns, wanted: Columns, keys: int, replaced: frozenset[str] = frozenset()
) -> list[ColumnChange]:
    """The changes that turn the `existing` columns into the `wanted` columns.

    The first `keys` columns are the primary key. Cassandra can rename only these columns, and
    cannot add or drop them. `replaced` contains columns that were dropped and added again.
    """
    old_keys, new_keys = list(existing)[:keys], list(wanted)[:keys]
    changes: list[ColumnChange] = []
    for old, new in zip(old_keys, new_keys, strict=True):
        changes += type_changes((old,), existing[old], wanted[new])
        if old != new:
            changes.append(Rename((old,), new))
    old_rest = {name: existing[name] for name in list(existing)[keys:]}
    new_rest = {name: wanted[name] for name in list(wanted)[keys:]}
    # Drops come first: a key may get the name of a dropped column.
    drops = [Drop((name,)) for name in old_rest if name not in new_rest or name in replaced]
    for name, kind in new_rest.items():
        if name not in old_rest or name in replaced:
            changes.append(Add((name,), kind))
        else:
            changes += type_changes((name,), old_rest[name], kind)
    return [*drops, *changes]


def type_changes(path: Path, old: DataType, new: DataType) -> Iterator[ColumnChange]:
    """The changes that turn the column or field at `path` from one type into another."""
    if isinstance(old, StructType) and isinstance(new, StructType):
        # A user type never loses a field, and a new field comes last.
        for before, after in zip(old.fields, new.fields, strict=False):
            yield from type_changes((*path, before.name), before.dataType, after.dataType)
            if before.name != after.name:
                yield Rename((*path, before.name), after.name)
        for field in new.fields[len(old.fields) :]:
            yield Add((*path, field.name), field.dataType)
    elif isinstance(old, ArrayType) and isinstance(new, ArrayType):
        yield from type_changes((*path, "element"), old.elementType, new.elementType)
    elif isinstance(old, MapType) and isinstance(new, MapType):
        yield from type_changes((*path, "key"), old.keyType, new.keyType)
        yield from type_changes((*path, "value"), old.valueType, new.valueType)
    elif old != new:
        yield Widen(path, old, new)


def is_in_map_key(columns: Columns, path: Path) -> bool:
    """Whether a path leads into the key of a map. A field may also have the name `key`."""
    kind = columns.get(path[0])
    for name in path[1:]:
        if isinstance(kind, MapType) and name == "key":
            return True
        kind = dict(children(kind)).get(name)
    return False


def alter_statement(table: str, change: ColumnChange) -> str:
    """The ALTER TABLE statement for a change, in both formats. `table` is an SQL name."""
    place = quoted(*change.path)
    match change:
        case Add(_, kind):
            return f"ALTER TABLE {table} ADD COLUMNS ({place} {sql_type(kind)})"
        case Drop():
            return f"ALTER TABLE {table} DROP COLUMN {place}"
        case Rename(_, name):
            return f"ALTER TABLE {table} RENAME COLUMN {place} TO {quoted(name)}"
        case Widen(_, _, kind):
            return f"ALTER TABLE {table} ALTER COLUMN {place} TYPE {sql_type(kind)}"
