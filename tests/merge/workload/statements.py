"""Random statements on random tables: every kind of write that CQL has, but for TRUNCATE.

A statement is one or more writes, each a text with markers and its values. Times and TTLs go in as
values too, so that there are few different texts to prepare.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from tests.merge.workload.tables import RandomColumn, RandomSchema, RandomTable
from tests.merge.workload.values import CollectionType, UserType

LONG_TTLS_S = (86_400, 432_000)
SHORT_TTLS_S = (1, 2, 3)

Values = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Write:
    """One INSERT, UPDATE or DELETE. `kind` says which, for counting."""

    kind: str
    text: str
    values: Values
    may_be_refused: bool = False
    """It names a place in a list, which the list may not have."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One write, or a batch of them."""

    writes: tuple[Write, ...]
    batch: Literal["logged", "unlogged"] | None = None

    @property
    def kind(self) -> str:
        return self.writes[0].kind if self.batch is None else f"{self.batch} batch"

    @property
    def may_be_refused(self) -> bool:
        return any(write.may_be_refused for write in self.writes)


@dataclass(frozen=True, slots=True)
class _Part:
    """What an UPDATE sets or a DELETE takes away."""

    text: str
    values: Values
    may_be_refused: bool = False


class StatementSource:
    """Statements without end. `short_ttl_share` of the writes have a TTL of seconds."""

    def __init__(
        self, random: Random, schema: RandomSchema, *, short_ttl_share: float = 0.05
    ) -> None:
        self._random = random
        self._schema = schema
        self._short_ttl_share = short_ttl_share

    def next(self) -> Statement:
        random = self._random
        if random.random() < 0.9:
            return Statement((self._write(random.choice(self._schema.cdc_tables)),))
        kind: Literal["logged", "unlogged"] = random.choice(("logged", "unlogged"))
        if random.random() < 0.5:
            # One partition: the writes become one update, deletions and rows together.
            table = random.choice(self._schema.cdc_tables)
            key = random.choice(table.partition_keys)
            writes = [self._write(table, key) for _ in range(random.randrange(2, 6))]
        else:
            tables = random.choices(self._schema.tables, k=random.randrange(2, 5))
            writes = [self._write(table) for table in tables]
        return Statement(tuple(writes), kind)

    def _write(self, table: RandomTable, key: Values | None = None) -> Write:
        key = key or self._random.choice(table.partition_keys)
        kinds: list[tuple[int, Callable[[RandomTable, Values], Write]]] = [
            (6, self._insert),
            (2, self._delete_row if table.clustering else self._delete_partition),
            (1, self._delete_partition),
        ]
        if table.regular:
            kinds += [(8, self._update), (3, self._delete_columns)]
        if table.static:
            kinds += [(2, self._update_static), (1, self._delete_static), (1, self._insert_static)]
        if table.clustering:
            kinds += [(3, self._delete_range)]
        weights = [weight for weight, _ in kinds]
        ((_, make),) = self._random.choices(kinds, weights)
        return make(table, key)

    # Where a write goes, and when.

    def _row(self, table: RandomTable) -> Values:
        return tuple(self._random.choice(values) for values in table.clustering_values)

    def _is_tied(self, table: RandomTable, key: Values) -> bool:
        return table.partition_keys.index(key) >= len(table.partition_keys) // 2

    def _using(
        self, table: RandomTable, key: Values, *, has_ttl: bool = True
    ) -> tuple[str, Values]:
        options: list[str] = []
        values: list[int] = []
        if self._is_tied(table, key):
            options.append("TIMESTAMP ?")
            values.append(self._random.choice(table.tie_times_us))
        if has_ttl and self._random.random() < 0.25:
            options.append("TTL ?")
            values.append(self._ttl_s(table, key))
        return (f" USING {' AND '.join(options)}" if options else ""), tuple(values)

    def _ttl_s(self, table: RandomTable, key: Values) -> int:
        # Ties among cells that expire meanwhile are decided by when the node compacts them.
        may_expire = not self._is_tied(table, key)
        if may_expire and self._random.random() < self._short_ttl_share * 4:
            return self._random.choice(SHORT_TTLS_S)
        return self._random.choice((*LONG_TTLS_S, 0))

    # INSERT

    def _insert(self, table: RandomTable, key: Values) -> Write:
        written = [column for column in table.regular if self._random.random() < 0.7]
        written += [column for column in table.static if self._random.random() < 0.2]
        columns = [*table.partition_key, *table.clustering, *written]
        values = [*key, *self._row(table), *map(self._value, written)]
        return self._insert_of("insert", table, key, columns, values)

    def _insert_static(self, table: RandomTable, key: Values) -> Write:
        written = self._some(table.static)
        columns = [*table.partition_key, *written]
        return self._insert_of(
            "insert static", table, key, columns, [*key, *map(self._value, written)]
        )

    def _insert_of(
        self,
        kind: str,
        table: RandomTable,
        key: Values,
        columns: Sequence[RandomColumn],
        values: Sequence[Any],
    ) -> Write:
        using, options = self._using(table, key)
        names = ", ".join(column.name for column in columns)
        marks = ", ".join("?" for _ in columns)
        text = f"INSERT INTO {table.qualified_name} ({names}) VALUES ({marks}){using}"
        return Write(kind, text, (*values, *options))

    def _value(self, column: RandomColumn) -> Any:
        return None if self._random.random() < 0.12 else column.type.value(self._random)

    def _some(self, columns: Sequence[RandomColumn]) -> list[RandomColumn]:
        return self._random.sample(columns, self._random.randrange(1, min(3, len(columns)) + 1))

    # UPDATE

    def _update(self, table: RandomTable, key: Values) -> Write:
        columns = self._some(table.regular)
        if table.static and self._random.random() < 0.1:
            columns += self._some(table.static)[:1]
        return self._update_of("update", table, key, columns, self._row(table))

    def _update_static(self, table: RandomTable, key: Values) -> Write:
        return self._update_of("update static", table, key, self._some(table.static), None)

    def _update_of(
        self,
        kind: str,
        table: RandomTable,
        key: Values,
        columns: Sequence[RandomColumn],
        row: Values | None,
    ) -> Write:
        using, options = self._using(table, key)
        assignments = [self._assignment(column) for column in columns]
        place, place_values = _where(table, key, row)
        text = (
            f"UPDATE {table.qualified_name}{using} "
            f"SET {', '.join(each.text for each in assignments)} WHERE {place}"
        )
        values = (value for each in assignments for value in each.values)
        may_be_refused = any(each.may_be_refused for each in assignments)
        return Write(kind, text, (*options, *values, *place_values), may_be_refused)

    def _assignment(self, column: RandomColumn) -> _Part:
        random, name = self._random, column.name
        match column.type:
            case CollectionType("list") as kind:
                change = random.choice(
                    (f"{name} + ?", f"? + {name}", f"{name} + ?", f"{name} - ?", "?", "[]")
                )
                if change == "[]":
                    value = kind.element.value(random)
                    return _Part(f"{name}[?] = ?", (random.randrange(3), value), True)
                return _Part(f"{name} = {change}", (kind.value(random),))
            case CollectionType("set") as kind:
                change = random.choice((f"{name} + ?", f"{name} - ?", "?"))
                return _Part(f"{name} = {change}", (kind.value(random),))
            case CollectionType() as kind:
                change = random.choice((f"{name} + ?", f"{name} - ?", "?", "[]"))
                if change == "[]":
                    return _Part(f"{name}[?] = ?", kind.entry(random))
                if change == f"{name} - ?":
                    return _Part(f"{name} = {change}", ({kind.path(random)},))
                return _Part(f"{name} = {change}", (kind.value(random),))
            case UserType(_, fields) if random.random() < 0.6:
                field, field_type = random.choice(fields)
                value = None if random.random() < 0.2 else field_type.value(random)
                return _Part(f"{name}.{field} = ?", (value,))
            case _:
                return _Part(f"{name} = ?", (self._value(column),))

    # DELETE

    def _delete_columns(self, table: RandomTable, key: Values) -> Write:
        return self._delete_of("delete cells", table, key, table.regular, self._row(table))

    def _delete_static(self, table: RandomTable, key: Values) -> Write:
        return self._delete_of("delete static", table, key, table.static, None)

    def _delete_of(
        self,
        kind: str,
        table: RandomTable,
        key: Values,
        columns: Sequence[RandomColumn],
        row: Values | None,
    ) -> Write:
        targets = [self._target(column) for column in self._some(columns)]
        using, options = self._using(table, key, has_ttl=False)
        place, place_values = _where(table, key, row)
        text = (
            f"DELETE {', '.join(target.text for target in targets)} "
            f"FROM {table.qualified_name}{using} WHERE {place}"
        )
        values = (value for target in targets for value in target.values)
        may_be_refused = any(target.may_be_refused for target in targets)
        return Write(kind, text, (*values, *options, *place_values), may_be_refused)

    def _target(self, column: RandomColumn) -> _Part:
        random, name = self._random, column.name
        match column.type:
            case CollectionType("list") if random.random() < 0.5:
                return _Part(f"{name}[?]", (random.randrange(3),), True)
            case CollectionType() as kind if kind.kind != "list" and random.random() < 0.6:
                return _Part(f"{name}[?]", (kind.path(random),))
            case UserType(_, fields) if random.random() < 0.6:
                return _Part(f"{name}.{random.choice(fields)[0]}", ())
            case _:
                return _Part(name, ())

    def _delete_row(self, table: RandomTable, key: Values) -> Write:
        return self._deletion("delete row", table, key, *_where(table, key, self._row(table)))

    def _delete_partition(self, table: RandomTable, key: Values) -> Write:
        return self._deletion("delete partition", table, key, *_where(table, key, None))

    def _delete_range(self, table: RandomTable, key: Values) -> Write:
        """A prefix of the clustering, then nothing, one bound or two on the next column."""
        random = self._random
        depth = random.randrange(len(table.clustering))
        row = self._row(table)
        place, values = _where(table, key, None)
        for column, value in zip(table.clustering[:depth], row[:depth], strict=True):
            place += f" AND {column.name} = ?"
            values += (value,)
        name = table.clustering[depth].name
        choices = table.clustering_values[depth]
        form = random.choice(("<", "<=", ">", ">=", "both", "both", "both", "in", "prefix"))
        match form:
            case "both":
                place += f" AND {name} {random.choice(('>', '>='))} ?"
                place += f" AND {name} {random.choice(('<', '<='))} ?"
                values += (random.choice(choices), random.choice(choices))
            case "in" if depth == len(table.clustering) - 1:
                place += f" AND {name} IN (?, ?)"
                values += (random.choice(choices), random.choice(choices))
            case "prefix" | "in":
                place += f" AND {name} = ?"
                values += (random.choice(choices),)
            case _:
                place += f" AND {name} {form} ?"
                values += (random.choice(choices),)
        return self._deletion("delete range", table, key, place, values)

    def _deletion(
        self, kind: str, table: RandomTable, key: Values, place: str, values: Values
    ) -> Write:
        using, options = self._using(table, key, has_ttl=False)
        text = f"DELETE FROM {table.qualified_name}{using} WHERE {place}"
        return Write(kind, text, (*options, *values))


def _where(table: RandomTable, key: Values, row: Values | None) -> tuple[str, Values]:
    columns = [*table.partition_key, *(table.clustering if row is not None else ())]
    return " AND ".join(f"{column.name} = ?" for column in columns), (*key, *(row or ()))
