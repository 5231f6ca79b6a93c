"""Ten random tables of differing shapes."""

import random
from dataclasses import dataclass

from tests.support.workloads.cql_types import (
    CqlType,
    create_type,
    list_of,
    map_of,
    scalar,
    set_of,
    tuple_of,
    user_type,
)
from tests.support.workloads.literals import EDGES, literal
from tests.support.workloads.scenario import Release, create_keyspace

TABLES = 10
_KEY_TYPES = (
    *("int", "bigint", "text", "uuid", "timestamp", "boolean", "blob", "date", "decimal", "varint"),
    *("ascii", "inet", "smallint", "time", "timeuuid", "tinyint"),
)
_NOT_IN_KEYS = ("''", "0x", "0.0")
"""Empty values may not be partition keys; 0.0 and 0 are one clustering under two spellings, of
which Cassandra shows whichever it met first."""
_VALUE_TYPES = (*_KEY_TYPES, "double", "float", "duration")

POINT = user_type("point", [("x", scalar("int")), ("y", scalar("text"))])
PLACE = user_type("place", [("at", POINT.frozen()), ("tags", set_of(scalar("text")).frozen())])


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: CqlType


@dataclass(frozen=True, slots=True, kw_only=True)
class TableShape:
    """What a table consists of, and the few keys of its writes, so that statements meet."""

    keyspace: str
    name: str
    partition: tuple[Column, ...]
    clustering: tuple[Column, ...]
    is_descending: tuple[bool, ...]
    regular: tuple[Column, ...]
    static: tuple[Column, ...]
    options: tuple[str, ...]
    partitions: tuple[tuple[str, ...], ...]
    clusterings: tuple[tuple[str, ...], ...]

    @property
    def is_counter(self) -> bool:
        return False

    @property
    def full_name(self) -> str:
        return f"{self.keyspace}.{self.name}"

    @property
    def create(self) -> str:
        """The statement that makes it."""
        columns = [
            *(f"{each.name} {each.type.cql}" for each in (*self.partition, *self.clustering)),
            *(f"{each.name} {each.type.cql}" for each in self.regular),
            *(f"{each.name} {each.type.cql} STATIC" for each in self.static),
        ]
        partition = ", ".join(each.name for each in self.partition)
        key = ", ".join((f"({partition})", *(each.name for each in self.clustering)))
        order = ", ".join(
            f"{each.name} {'DESC' if down else 'ASC'}"
            for each, down in zip(self.clustering, self.is_descending, strict=True)
        )
        options = [f"CLUSTERING ORDER BY ({order})"] if order else []
        return (
            f"CREATE TABLE {self.full_name} ({', '.join(columns)}, PRIMARY KEY ({key})) "
            f"WITH {' AND '.join((*options, *self.options))}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(TableShape):
    """`explicit_times` is the share of the table's writes with USING TIMESTAMP."""

    explicit_times: float


def random_tables(
    seed: int, *, keyspace: str = "random", release: Release = (5, 0)
) -> tuple[Table, ...]:
    """Ten tables with `cdc = true`, so shaped that every seed has the main kinds among them:
    without and with many clustering columns, descending ones, composite partition keys, static
    columns, non-frozen collections and user types, no regular column."""
    rng = random.Random(f"tables {seed}")
    return tuple(_table(rng, keyspace, number, release) for number in range(TABLES))


def schema_statements(tables: tuple[Table, ...], replication_factor: int = 1) -> tuple[str, ...]:
    """Keyspace, user types and tables."""
    keyspace = tables[0].keyspace
    return (
        create_keyspace(keyspace, replication_factor),
        create_type(keyspace, POINT),
        create_type(keyspace, PLACE),
        *(table.create for table in tables),
    )


def _table(rng: random.Random, keyspace: str, number: int, release: Release) -> Table:
    clusterings = (0, 1, 2, 1, 3, 0, 2, 1, 4, 2)[number]
    partition = tuple(
        Column(f"p{index}", scalar(rng.choice(_KEY_TYPES))) for index in range(1 + number % 3 // 2)
    )
    clustering = tuple(
        Column(f"c{index}", scalar(rng.choice(_KEY_TYPES))) for index in range(clusterings)
    )
    regulars = 0 if number == 7 else rng.randrange(3, 9)
    regular = [Column(f"v{index}", _value_type(rng)) for index in range(regulars)]
    if regular:
        regular[-1] = Column(regular[-1].name, _multi_cell(number))
    statics = rng.randrange(1, 4) if clusterings and number % 2 == 0 else 0
    static = [Column(f"s{index}", _value_type(rng)) for index in range(statics)]
    if statics > 1:
        static[-1] = Column(static[-1].name, _multi_cell(number // 2))
    return Table(
        keyspace=keyspace,
        partitions=tuple(tuple(_key(rng, each.type, i) for each in partition) for i in range(5)),
        clusterings=tuple(
            tuple(dict.fromkeys(_key(rng, each.type, i) for i in range(5))) for each in clustering
        ),
        name=f"t{number}",
        partition=partition,
        clustering=clustering,
        is_descending=tuple(rng.random() < 0.5 for _ in clustering),
        regular=tuple(regular),
        static=tuple(static),
        explicit_times=(0.0, 0.5, 1.0)[number % 3],
        options=("cdc = true", *(("read_repair = 'NONE'",) if release >= (4, 0) else ())),
    )


def _key(rng: random.Random, of: CqlType, index: int) -> str:
    edges = [text for text in EDGES[of.name] if text not in _NOT_IN_KEYS]
    if index < min(3, len(edges)):
        return edges[index]
    while (text := literal(rng, of)) in _NOT_IN_KEYS:
        pass
    return text


def _value_type(rng: random.Random) -> CqlType:
    choice = rng.random()
    if choice < 0.6:
        return scalar(rng.choice(_VALUE_TYPES))
    if choice < 0.7:
        return tuple_of(scalar("int"), scalar("text"), scalar(rng.choice(_VALUE_TYPES)))
    if choice < 0.8:
        return rng.choice((POINT, PLACE)).frozen()
    kind = _multi_cell(rng.randrange(6))
    return kind.frozen() if rng.random() < 0.4 else kind


def _multi_cell(number: int) -> CqlType:
    return (
        list_of(scalar("int")),
        set_of(scalar("text")),
        map_of(scalar("text"), scalar("int")),
        POINT,
        map_of(scalar("uuid"), list_of(scalar("timestamp")).frozen()),
        set_of(PLACE.frozen()),
    )[number % 6]
