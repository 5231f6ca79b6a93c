"""Random tables, each with the few keys that its statements use."""

from dataclasses import dataclass
from random import Random
from typing import Any

from tests.merge.plain import plain
from tests.merge.workload.values import (
    AnyType,
    UserType,
    ValueType,
    random_collection_type,
    random_key_type,
    random_value_type,
)

_PARTITIONS = 6
_CLUSTERING_VALUES = 4
# Cassandra fails to read a collection whose name begins with a byte above 7f: `ColumnMetadata`
# sorts it before the mark from which on columns are complex.
_ODD_NAMES = ('"Select"', '"a b"', '"caf\u00e9"', '"quo""te"')


@dataclass(frozen=True, slots=True)
class RandomColumn:
    """`name` as CQL writes it."""

    name: str
    type: AnyType


@dataclass(frozen=True, slots=True)
class RandomTable:
    """A table; `partition_keys` and `clustering_values` are all that is ever written to.

    The later half of the partition keys is written with times of `tie_times_us` alone.
    """

    keyspace: str
    name: str
    has_cdc: bool
    partition_key: tuple[RandomColumn, ...]
    clustering: tuple[RandomColumn, ...]
    is_descending: tuple[bool, ...]
    static: tuple[RandomColumn, ...]
    regular: tuple[RandomColumn, ...]
    partition_keys: tuple[tuple[Any, ...], ...]
    clustering_values: tuple[tuple[Any, ...], ...]
    tie_times_us: tuple[int, ...]
    has_read_repair_option: bool
    default_ttl_s: int

    @property
    def qualified_name(self) -> str:
        return f"{self.keyspace}.{self.name}"

    def create_statement(self) -> str:
        columns = [
            *(f"{column.name} {column.type.cql}" for column in self.partition_key),
            *(f"{column.name} {column.type.cql}" for column in self.clustering),
            *(f"{column.name} {column.type.cql} static" for column in self.static),
            *(f"{column.name} {column.type.cql}" for column in self.regular),
        ]
        partition_key = ", ".join(column.name for column in self.partition_key)
        clustering = "".join(f", {column.name}" for column in self.clustering)
        options = [f"cdc = {str(self.has_cdc).lower()}"]
        if self.clustering:
            order = ", ".join(
                f"{column.name} {'DESC' if descending else 'ASC'}"
                for column, descending in zip(self.clustering, self.is_descending, strict=True)
            )
            options.insert(0, f"CLUSTERING ORDER BY ({order})")
        if self.has_read_repair_option:
            options.append("read_repair = 'NONE'")
        if self.default_ttl_s:
            options.append(f"default_time_to_live = {self.default_ttl_s}")
        return (
            f"CREATE TABLE {self.qualified_name} ({', '.join(columns)}, "
            f"PRIMARY KEY (({partition_key}){clustering})) WITH {' AND '.join(options)}"
        )


@dataclass(frozen=True, slots=True)
class RandomSchema:
    """A keyspace with its types and tables; the last table has no CDC."""

    keyspace: str
    user_types: tuple[UserType, ...]
    tables: tuple[RandomTable, ...]

    @property
    def cdc_tables(self) -> tuple[RandomTable, ...]:
        return tuple(table for table in self.tables if table.has_cdc)

    def statements(self) -> list[str]:
        """What makes all of it."""
        replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        made = [f"CREATE KEYSPACE {self.keyspace} WITH replication = {replication}"]
        for user_type in self.user_types:
            fields = ", ".join(f"{name} {field.cql}" for name, field in user_type.fields)
            made.append(f"CREATE TYPE {self.keyspace}.{user_type.name} ({fields})")
        return made + [table.create_statement() for table in self.tables]


def random_schema(
    random: Random, now_us: int, *, keyspace: str = "ks", tables: int = 10, release: tuple[int, int]
) -> RandomSchema:
    """So many CDC tables and one without CDC. `now_us` is the middle of some of the forced ties."""
    vectors = release >= (5, 0)
    user_types = tuple(
        UserType(
            f"u{number}",
            tuple(
                (f"f{field}", random_value_type(random, 1, vectors=vectors))
                for field in range(random.randrange(2, 5))
            ),
        )
        for number in range(2)
    )

    def make(number: int) -> RandomTable:
        return _random_table(
            random, keyspace, f"t{number}", user_types, now_us, release, has_cdc=number < tables
        )

    return RandomSchema(keyspace, user_types, tuple(make(number) for number in range(tables + 1)))


def _random_table(
    random: Random,
    keyspace: str,
    name: str,
    user_types: tuple[UserType, ...],
    now_us: int,
    release: tuple[int, int],
    *,
    has_cdc: bool,
) -> RandomTable:
    partition_key = [random_key_type(random) for _ in range(random.choice((1, 1, 2, 3)))]
    clustering = [random_key_type(random) for _ in range(random.choice((0, 1, 1, 2, 2, 3)))]
    static_count = random.randrange(4) if clustering else 0
    static = [_random_type(random, user_types, release) for _ in range(static_count)]
    # A table may have nothing but its key.
    regular_count = random.choice((0, 1, 2, 3, 4, 5, 6, 7))
    regular = [_random_type(random, user_types, release) for _ in range(regular_count)]
    odd_names = dict(enumerate(random.sample(_ODD_NAMES, 2)))
    # Not below 0: SSTables of 5.0 with a negative time of a partition deletion are unreadable.
    first_us = random.choice((0, 1_000_000, now_us - 3_600_000_000, now_us, 1 << 60))
    return RandomTable(
        keyspace=keyspace,
        name=name,
        has_cdc=has_cdc,
        partition_key=_columns("p", partition_key),
        clustering=_columns("c", clustering),
        is_descending=tuple(random.random() < 0.4 for _ in clustering),
        static=_columns("s", static),
        regular=tuple(
            RandomColumn(odd_names.get(number, f"r{number}"), each)
            for number, each in enumerate(regular)
        ),
        partition_keys=_different_keys(random, partition_key, _PARTITIONS),
        clustering_values=tuple(
            tuple(value for (value,) in _different_keys(random, [each], _CLUSTERING_VALUES))
            for each in clustering
        ),
        tie_times_us=tuple(range(first_us, first_us + 6)),
        has_read_repair_option=release >= (4, 0),
        default_ttl_s=random.choice((0, 0, 0, 0, 864_000)),
    )


def _columns(letter: str, types: list[ValueType] | list[AnyType]) -> tuple[RandomColumn, ...]:
    return tuple(RandomColumn(f"{letter}{number}", each) for number, each in enumerate(types))


def _random_type(
    random: Random, user_types: tuple[UserType, ...], release: tuple[int, int]
) -> AnyType:
    vectors = release >= (5, 0)
    kind = random.choice(("value", "value", "value", "list", "set", "map", "user", "frozen user"))
    match kind:
        case "value":
            return random_value_type(random, vectors=vectors)
        case "user":
            return random.choice(user_types)
        case "frozen user":
            return random.choice(user_types).frozen()
        case _:
            return random_collection_type(random, kind, vectors=vectors)


def _different_keys(
    random: Random, types: list[ValueType], count: int
) -> tuple[tuple[Any, ...], ...]:
    """At most so many keys; fewer where the types have fewer (boolean)."""
    found: dict[Any, tuple[Any, ...]] = {}
    for _ in range(20 * count):
        key = tuple(each.key(random) for each in types if each.key is not None)
        found.setdefault(plain(key), key)
        if len(found) == count:
            break
    return tuple(found.values())
