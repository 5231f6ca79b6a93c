"""CQL of strangers: tables with any names of columns, values at the limits of their types."""

import string
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.support.strangers.chance import Chance, cut
from tests.support.workloads.cql_types import (
    CqlType,
    list_of,
    map_of,
    scalar,
    set_of,
    tuple_of,
    user_type,
)
from tests.support.workloads.literals import literal, text_literal

KEYSPACE_LETTERS = 48
_WORD = string.ascii_letters + string.digits + "_"
_COLUMN_BYTES = 200
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64, "timestamp": 64, "varint": 2000}
_DATE_BITS = 32
_DAY_NS = 86_400 * 10**9
_FLOATS = {"float": 24, "double": 53}
_LARGEST_SCALE = 1 << 12
_KEYS = (*_BITS, "date", "text", "blob", "uuid", "decimal", "time", "boolean", "inet", "double")
_VALUES = (*_KEYS, "float", "timeuuid", "duration", "ascii")
_LONGEST_TTL_S = 20 * 365 * 86_400
_DAY_S = 86_400
_FUTURE_US = 1 << 51
"""In the year 2041."""


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
    partition: Sequence[Column]
    clustering: Sequence[Column]
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
        return [*self.partition, *self.clustering, *self.others]

    @property
    def create(self) -> str:
        keys = ["(" + ", ".join(quoted(each.name) for each in self.partition) + ")"]
        keys += [quoted(each.name) for each in self.clustering]
        lines = ", ".join(definition(each) for each in self.columns)
        return f"CREATE TABLE {self.cql} ({lines}, PRIMARY KEY ({', '.join(keys)})) WITH cdc = true"


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
        elif draw < 0.3 and taken:
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
    names: list[str] = []
    columns: list[Column] = []
    partition, clustering = chance.randrange(1, 3), chance.randrange(3)
    for _ in range(partition + clustering):
        names.append(column_name(chance, names, reserved))
        of = scalar(chance.choice(_KEYS))
        values = tuple(value(chance, of) for _ in range(chance.size(1, 60)))
        columns.append(Column(names[-1], of, values=values))
    others: list[Column] = []
    for _ in range(chance.randrange(1, 7)):
        others.append(other_column(chance, names, reserved, types))
        names.append(others[-1].name)
    return StrangeTable(keyspace, name, columns[:partition], columns[partition:], others)


def strange_type(chance: Chance, name: str) -> CqlType:
    """A user type, whose fields may have any names too."""
    names: list[str] = []
    for _ in range(chance.randrange(1, 5)):
        names.append(column_name(chance, names, ()))
    return user_type(name, [(quoted(each), scalar(chance.choice(_VALUES))) for each in names])


def value_type(chance: Chance, types: Sequence[CqlType]) -> CqlType:
    """Mostly a scalar."""
    of = [scalar(chance.choice(_VALUES)) for _ in range(3)]
    draw = chance.random()
    if draw < 0.6:
        return of[0]
    if draw < 0.7 and types:
        return chance.choice(types).frozen()
    hashed = [each for each in of if each.name != "duration"] or [scalar("text")]
    kinds = (list_of(of[0]), set_of(hashed[0]), map_of(hashed[0], of[1]), tuple_of(*of))
    kind = chance.choice(kinds)
    return kind.frozen() if chance.flag(0.3) else kind


def value(chance: Chance, of: CqlType) -> str:
    """A literal; half of the scalars by random bits of their type."""
    name = of.name
    if of.of or chance.flag(0.5):
        return literal(chance, of)
    if name in _BITS:
        return str(chance.integer(chance.size(2, _BITS[name]) if name == "varint" else _BITS[name]))
    match name:
        case "date":
            # Days from the smallest date on, as the only literal for all of them.
            return f"'{chance.extent(1 << _DATE_BITS) - 1}'"
        case "time":
            return str(chance.extent(_DAY_NS) - 1)
        case "decimal":
            return f"{chance.integer(chance.size(2, 1000))}E{chance.offset(_LARGEST_SCALE)}"
        case "float" | "double":
            return f"{chance.integer(_FLOATS[name])}E{chance.offset(30)}"
        case "text":
            return text_literal(chance.text(chance.size(1, 200)).replace("\0", ""))
        case "blob":
            return "0x" + chance.randbytes(chance.size(1, 2000)).hex()
        case _:
            return literal(chance, of)


def statement(chance: Chance, table: StrangeTable, timed: float) -> str:
    """One write: a row, some of its cells, or a deletion; a share of them `timed`, at any time of
    64 bits."""
    key = row_key(chance, table)
    some = chance.sample(table.others, chance.randrange(1, len(table.others) + 1))
    draw = chance.random()
    options = []
    has_deletion = draw < 0.2 or any(each.type.is_multi_cell for each in some)
    if chance.flag(timed) and not (table.is_old and has_deletion):
        time = abs(write_time(chance)) | _FUTURE_US if table.is_old else write_time(chance)
        options = [f"TIMESTAMP {time}"]
    if draw >= 0.2 and chance.flag(0.1):
        options.append(f"TTL {chance.size(_DAY_S, _LONGEST_TTL_S)}")
    using = " USING " + " AND ".join(options) if options else ""
    parts = [f"{quoted(each.name)} = {text}" for each, text in key]
    where = " AND ".join(parts)
    if draw < 0.1:
        partition = " AND ".join(parts[: len(table.partition)])
        return f"DELETE FROM {table.cql}{using} WHERE {chance.choice((where, partition))}"
    if draw < 0.2:
        names = ", ".join(quoted(each.name) for each in some)
        return f"DELETE {names} FROM {table.cql}{using} WHERE {where}"
    cells = [(each, value(chance, each.type)) for each in some]
    if draw < 0.4:
        sets = ", ".join(f"{quoted(each.name)} = {text}" for each, text in cells)
        return f"UPDATE {table.cql}{using} SET {sets} WHERE {where}"
    return insert(table, [*key, *cells]) + using


def insert(table: StrangeTable, cells: Sequence[tuple[Column, str]]) -> str:
    names = ", ".join(quoted(each.name) for each, _ in cells)
    texts = ", ".join(text for _, text in cells)
    return f"INSERT INTO {table.cql} ({names}) VALUES ({texts})"


def row_key(chance: Chance, table: StrangeTable) -> list[tuple[Column, str]]:
    """Out of the values of the key columns."""
    return [(each, chance.choice(each.values)) for each in (*table.partition, *table.clustering)]


def write_time(chance: Chance) -> int:
    """Any but the smallest, which Cassandra rejects."""
    return max(chance.integer(64), 1 - (1 << 63))
