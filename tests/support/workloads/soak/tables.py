"""Random tables of every shape."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tests.support.workloads.cql_types import NEVER_EMPTY, SCALARS, CqlType, scalar
from tests.support.workloads.literals import empty_literal, literal
from tests.support.workloads.random_tables import Column, TableShape
from tests.support.workloads.scenario import Release
from tests.support.workloads.soak.types import TypeSource, key_type, random_type, resolved

_KINDS = {
    "plain": 8.0,
    "single": 2.0,
    "keys_only": 0.7,
    "wide": 0.8,
    "many_clusterings": 0.5,
    "counter": 1.2,
    "compact": 1.0,
    "viewed": 1.0,
}
_NOT_IN_KEYS = ("''", "0x")
_QUOTED = ('"Mixed Case {}"', '"Größe {}"', '"with ""quotes"" {}"', '"字 {}"')


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakTable(TableShape):
    """A table as it is at one moment. `times` says how its writes are timed: by the node's clock,
    by few times that tie, or by the extremes of 64 bits."""

    kind: str
    times: str
    dropped: tuple[tuple[Column, bool], ...] = ()
    """Columns that can be added again, and whether they were static."""

    @property
    def is_counter(self) -> bool:
        return self.kind == "counter"

    @property
    def has_plain_columns(self) -> bool:
        """Whether columns can be added and dropped freely."""
        return self.kind not in ("counter", "compact", "viewed")

    def with_types(self, user_types: Mapping[str, CqlType]) -> "SoakTable":
        """The same with its user types as they are by now."""

        def now(columns: tuple[Column, ...]) -> tuple[Column, ...]:
            return tuple(Column(each.name, resolved(each.type, user_types)) for each in columns)

        return replace(self, regular=now(self.regular), static=now(self.static))


@dataclass(frozen=True, slots=True)
class SharedKey:
    """A partition key that several tables of a keyspace have, so that a batch over them is one
    mutation."""

    columns: tuple[Column, ...]
    values: tuple[tuple[str, ...], ...]


def shared_key(rng: random.Random, source: TypeSource) -> SharedKey:
    columns = tuple(Column(f"p{i}", key_type(rng, source)) for i in range(rng.choice((1, 1, 2))))
    return SharedKey(columns, _partitions(rng, columns))


def random_table(
    rng: random.Random, source: TypeSource, keyspace: str, name: str, shared: SharedKey
) -> SoakTable:
    """A table of a random kind. Keys are few, so that statements meet."""
    (kind,) = rng.choices(list(_KINDS), list(_KINDS.values()))
    key = shared if rng.random() < 0.7 else shared_key(rng, source)
    counts = {"single": 0, "many_clusterings": rng.randrange(33, 40), "keys_only": 1, "viewed": 1}
    clusterings = counts.get(kind, rng.choice((1, 1, 2, 2, 3)))
    if kind == "compact":
        clusterings = rng.choice((0, 1, 1, 2))
    clustering = tuple(
        Column(
            f"c{i}",
            scalar(rng.choice(("int", "text", "bigint", "blob", "uuid", "smallint")))
            if kind in ("many_clusterings", "viewed")
            else key_type(rng, source),
        )
        for i in range(clusterings)
    )
    is_descending = tuple(
        rng.random() < 0.4 and not (source.release < (4, 0) and each.type.name not in SCALARS)
        for each in clustering
    )
    regular, static = _columns(rng, source, kind, clusterings)
    options = ["cdc = true" if rng.random() < 0.93 else "cdc = false"]
    if kind == "compact":
        is_descending = tuple(False for _ in clustering)
        options.insert(0, "COMPACT STORAGE")
    if kind not in ("counter", "viewed") and rng.random() < 0.15:
        options.append("default_time_to_live = 1000000")
    times = "clock" if kind == "counter" else rng.choice(("clock", "ties", "extremes"))
    return SoakTable(
        keyspace=keyspace,
        name=name,
        kind=kind,
        partition=key.columns,
        clustering=clustering,
        is_descending=is_descending,
        regular=regular,
        static=static,
        options=tuple(options),
        times=times,
        partitions=key.values,
        clusterings=tuple(
            tuple(
                _key_literal(rng, each.type, source.release, down)
                for _ in range(2 if kind == "many_clusterings" else 4)
            )
            for each, down in zip(clustering, is_descending, strict=True)
        ),
    )


def column_name(rng: random.Random, prefix: str, number: int) -> str:
    """A name as CQL writes it, now and then one that has to be quoted."""
    if rng.random() < 0.08:
        return rng.choice(_QUOTED).format(f"{prefix}{number}")
    return f"{prefix}{number}"


def _columns(
    rng: random.Random, source: TypeSource, kind: str, clusterings: int
) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """Regular and static columns."""
    if kind == "keys_only":
        return (), ()
    if kind == "counter":
        counter = CqlType("counter")
        regular = tuple(Column(f"v{i}", counter) for i in range(rng.randrange(1, 4)))
        return regular, (Column("s0", counter),) if rng.random() < 0.4 else ()
    if kind == "compact":
        # One regular column beside a clustering, or as many as one likes without; never cells.
        count = rng.choice((0, 1, 1)) if clusterings else rng.randrange(1, 5)
        return tuple(
            Column(f"v{i}", random_type(rng, source, 2).frozen()) for i in range(count)
        ), ()
    if kind == "viewed":
        names = ("int", "text", "uuid", "blob", "timestamp")
        return tuple(Column(f"v{i}", scalar(rng.choice(names))) for i in range(3)), ()
    if kind == "wide":
        depths = [0] * rng.randrange(60, 75) + [1] * rng.randrange(0, 20)
    else:
        depths = [rng.randrange(4) for _ in range(rng.randrange(1, 8))]
    regular = tuple(
        Column(column_name(rng, "v", i), _column_type(rng, source, depth))
        for i, depth in enumerate(depths)
    )
    statics = 0
    if clusterings and rng.random() < 0.5:
        statics = rng.randrange(60, 75) if kind == "wide" else rng.randrange(1, 5)
    static = tuple(
        Column(column_name(rng, "s", i), _column_type(rng, source, 0 if kind == "wide" else 3))
        for i in range(statics)
    )
    return regular, static


def _column_type(rng: random.Random, source: TypeSource, depth: int) -> CqlType:
    found = random_type(rng, source, depth)
    return found.frozen() if rng.random() < 0.35 else found


def new_column(rng: random.Random, source: TypeSource, prefix: str, number: int) -> Column:
    """A column that is added later."""
    return Column(column_name(rng, prefix, number), _column_type(rng, source, 3))


def _partitions(rng: random.Random, columns: tuple[Column, ...]) -> tuple[tuple[str, ...], ...]:
    """Values of the partition key; a single column must not be empty."""
    found = []
    for _ in range(4):
        row = []
        for column in columns:
            text = literal(rng, column.type, nulls=False)
            while len(columns) == 1 and text in _NOT_IN_KEYS:
                text = literal(rng, column.type, nulls=False)
            row.append(text)
        found.append(tuple(row))
    return tuple(found)


def _key_literal(rng: random.Random, of: CqlType, release: Release, is_descending: bool) -> str:
    if of.name in SCALARS and of.name not in NEVER_EMPTY and rng.random() < 0.08:
        return empty_literal(of)
    text = literal(rng, of, nulls=release >= (4, 0))
    # 5.0.9 fails on an empty map in a descending column.
    while is_descending and text == "{}":
        text = literal(rng, of, nulls=release >= (4, 0))
    return text
