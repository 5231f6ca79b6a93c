"""CQL of strangers: tables with any names of columns, values at the limits of their types."""

import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from tests.support.strangers.chance import Chance, cut
from tests.support.workloads import cql_types
from tests.support.workloads.cql_types import SCALARS, CqlType, scalar
from tests.support.workloads.literals import literal, text_literal

KEYSPACE_LETTERS = 48
_WORD = string.ascii_letters + string.digits + "_"
_COLUMN_BYTES = 200
_DAY_S = 86_400
_LONGEST_TTL_S = 20 * 365 * _DAY_S
_FUTURE_US = 1 << 51  # in the year 2041
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64, "timestamp": 64}
_KEYS = tuple(each for each in SCALARS if each != "duration")
_LITERALS: Mapping[str, Callable[[Chance], str]] = {
    # Days from the smallest date on, as the only literal for all of them.
    "date": lambda chance: f"'{chance.extent(1 << 32) - 1}'",
    "time": lambda chance: str(chance.extent(_DAY_S * 10**9) - 1),
    "decimal": lambda chance: f"{chance.integer(chance.size(2, 1000))}E{chance.offset(1 << 12)}",
    "float": lambda chance: f"{chance.integer(24)}E{chance.offset(30)}",
    "double": lambda chance: f"{chance.integer(53)}E{chance.offset(30)}",
    "text": lambda chance: text_literal(chance.text(chance.size(1, 200)).replace("\0", "")),
    "blob": lambda chance: "0x" + chance.randbytes(chance.size(1, 2000)).hex(),
    "varint": lambda chance: str(chance.integer(chance.size(2, 2000))),
}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class Column:
    """`values` are those of a key column, out of which all rows take theirs."""

    name: str
    type: CqlType
    is_masked: bool = False
    values: tuple[str, ...] = ()


@dataclass
class StrangeTable:
    """A table with CDC. `others` are its columns beside the key; schema changes alter them.

    `is_old`: it has rows that a snapshot brings. Snapshots have no deletions, so no write may be
    older than one of them. That includes the deletion with which a collection is replaced.
    """

    keyspace: str
    name: str
    key: Sequence[Column]
    partition: int
    """So many columns of the key."""
    others: list[Column]
    dropped: set[str] = field(default_factory=set)
    is_old: bool = False

    @property
    def cql(self) -> str:
        return f"{quoted(self.keyspace)}.{quoted(self.name)}"

    @property
    def full_name(self) -> str:
        return f"{self.keyspace}.{self.name}"

    @property
    def columns(self) -> list[Column]:
        return [*self.key, *self.others]

    @property
    def taken(self) -> list[str]:
        """Names of columns, dropped ones too."""
        return [*(each.name for each in self.columns), *sorted(self.dropped)]

    @property
    def create(self) -> str:
        names = [quoted(each.name) for each in self.key]
        key = ", ".join([f"({', '.join(names[: self.partition])})", *names[self.partition :]])
        lines = ", ".join(definition(each) for each in self.columns)
        return f"CREATE TABLE {self.cql} ({lines}, PRIMARY KEY ({key})) WITH cdc = true"


def definition(column: Column) -> str:
    masked = " MASKED WITH DEFAULT" if column.is_masked else ""
    return f"{quoted(column.name)} {column.type.cql}{masked}"


def word(chance: Chance, most: int) -> str:
    """A name of a keyspace or a table."""
    return "".join(chance.choices(_WORD, k=chance.extent(most)))


def column_name(chance: Chance, taken: Sequence[str], reserved: Sequence[str]) -> str:
    """Any text; at times one that a target reserves, or that resembles another column."""
    while True:
        draw = chance.random()
        if draw < 0.1 and reserved:
            name = chance.choice(reserved)
        elif draw < 0.25 and taken:
            name = chance.twin(chance.choice(taken))
        else:
            name = chance.text(chance.size(1, 24))
        name = cut(name.replace("\0", ""), _COLUMN_BYTES)
        if name and name not in taken:
            return name


def other_column(
    chance: Chance, taken: Sequence[str], reserved: Sequence[str], types: Sequence[CqlType]
) -> Column:
    """Of no key. Where a name does not begin in ASCII, Cassandra leaves the deletion of a
    collection out of its log, so a collection is frozen there."""
    name = column_name(chance, taken, reserved)
    of = value_type(chance, types)
    return Column(name, of if name[0].isascii() else of.frozen(), chance.flag(0.25))


def strange_table(
    chance: Chance, keyspace: str, name: str, reserved: Sequence[str], types: Sequence[CqlType]
) -> StrangeTable:
    """With up to two columns in each part of its key and up to six others."""
    partition, clustering = chance.randrange(1, 3), chance.randrange(3)
    table = StrangeTable(keyspace, name, key := [], partition, [])
    for _ in range(partition + clustering):
        of = scalar(chance.choice(_KEYS))
        values = tuple(value(chance, of) for _ in range(chance.size(1, 60)))
        key.append(Column(column_name(chance, table.taken, reserved), of, values=values))
    for _ in range(chance.randrange(1, 7)):
        table.others.append(other_column(chance, table.taken, reserved, types))
    return table


def strange_type(chance: Chance, name: str) -> CqlType:
    """A user type, whose fields may have any names too."""
    names: list[str] = []
    for _ in range(chance.randrange(1, 5)):
        names.append(column_name(chance, names, ()))
    return cql_types.user_type(
        name, [(quoted(each), scalar(chance.choice(SCALARS))) for each in names]
    )


def value_type(chance: Chance, types: Sequence[CqlType]) -> CqlType:
    """Mostly a scalar."""
    of = [scalar(chance.choice(SCALARS)) for _ in range(3)]
    draw = chance.random()
    if draw < 0.6:
        return of[0]
    if draw < 0.7 and types:
        return chance.choice(types).frozen()
    hashed = [each for each in of if each.name != "duration"] or [scalar("text")]
    kinds = (
        cql_types.list_of(of[0]),
        cql_types.set_of(hashed[0]),
        cql_types.map_of(hashed[0], of[1]),
        cql_types.tuple_of(*of),
    )
    kind = chance.choice(kinds)
    return kind.frozen() if chance.flag(0.3) else kind


def value(chance: Chance, of: CqlType) -> str:
    """A literal; half of the scalars by random bits of their type."""
    if of.of or chance.flag(0.5):
        return literal(chance, of)
    if bits := _BITS.get(of.name):
        return str(chance.integer(bits))
    return _LITERALS.get(of.name, partial(literal, of=of))(chance)


def statement(chance: Chance, table: StrangeTable, timed: float) -> str:
    """One write: a row, some of its cells, or a deletion; a share of them `timed`, at any time of
    64 bits.

    Cassandra 5.0 cannot read a partition back that it has deleted at a negative time. A snapshot
    takes every row for an inserted one, so a row is inserted together with its first update.
    """
    key = row_key(chance, table)
    some = chance.sample(table.others, chance.randrange(1, len(table.others) + 1))
    draw = chance.random()
    options = []
    has_deletion = draw < 0.2 or any(each.type.is_multi_cell for each in some)
    if chance.flag(timed) and not (table.is_old and has_deletion):
        time = max(chance.integer(64), 1 - (1 << 63))  # the smallest is none
        if draw < 0.1:
            time = abs(time)
        options = [f"TIMESTAMP {abs(time) | _FUTURE_US if table.is_old else time}"]
    if draw >= 0.2 and chance.flag(0.1):
        options.append(f"TTL {chance.size(_DAY_S, _LONGEST_TTL_S)}")
    using = " USING " + " AND ".join(options) if options else ""
    parts = [f"{quoted(each.name)} = {text}" for each, text in key]
    where = " AND ".join(parts)
    if draw < 0.1:
        partition = " AND ".join(parts[: table.partition])
        return f"DELETE FROM {table.cql}{using} WHERE {chance.choice((where, partition))}"
    if draw < 0.2:
        names = ", ".join(quoted(each.name) for each in some)
        return f"DELETE {names} FROM {table.cql}{using} WHERE {where}"
    cells = [(each, value(chance, each.type)) for each in some]
    if draw < 0.4:
        sets = ", ".join(f"{quoted(each.name)} = {text}" for each, text in cells)
        update = f"UPDATE {table.cql}{using} SET {sets} WHERE {where}"
        return f"BEGIN BATCH {insert(table, key)}{using}; {update}; APPLY BATCH"
    return insert(table, [*key, *cells]) + using


def insert(table: StrangeTable, cells: Sequence[tuple[Column, str]]) -> str:
    names = ", ".join(quoted(each.name) for each, _ in cells)
    texts = ", ".join(text for _, text in cells)
    return f"INSERT INTO {table.cql} ({names}) VALUES ({texts})"


def row_key(chance: Chance, table: StrangeTable) -> list[tuple[Column, str]]:
    """Out of the values of the key columns."""
    return [(each, chance.choice(each.values)) for each in table.key]
