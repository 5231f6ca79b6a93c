"""Random types, nested to depth 3."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tests.support.workloads.cql_types import (
    SCALARS,
    CqlType,
    list_of,
    map_of,
    scalar,
    set_of,
    tuple_of,
    user_type,
    vector_of,
)
from tests.support.workloads.scenario import Release

DEPTH = 3
_KEY_SCALARS = tuple(name for name in SCALARS if name != "duration")


@dataclass(frozen=True, slots=True)
class TypeSource:
    """What types are made from; `user_types` are those of the keyspace."""

    release: Release
    user_types: Mapping[str, CqlType]


def random_type(
    rng: random.Random, source: TypeSource, depth: int = DEPTH, *, is_key: bool = False
) -> CqlType:
    """A type of at most so many levels below its own name, not frozen itself. `is_key`: its values
    have an order, so there is no duration in it."""
    if depth == 0 or rng.random() < 0.4:
        return scalar(rng.choice(_KEY_SCALARS if is_key else SCALARS))

    def inner(*, key: bool = is_key) -> CqlType:
        return random_type(rng, source, depth - 1, is_key=key).frozen()

    kinds = ["list", "set", "map", "map", "tuple"]
    if source.user_types:
        kinds += ["user", "user"]
    if source.release >= (5, 0):
        kinds.append("vector")
    kind = rng.choice(kinds)
    if kind == "list":
        return list_of(inner())
    if kind == "set":
        return set_of(inner(key=True))
    if kind == "map":
        return map_of(inner(key=True), inner())
    if kind == "tuple":
        return tuple_of(*(inner() for _ in range(rng.randrange(1, 5))))
    if kind == "vector":
        return vector_of(inner(), rng.randrange(1, 5))
    found = rng.choice(sorted(source.user_types.values(), key=lambda of: of.name))
    return scalar("int") if is_key and has_duration(found) else found


def key_type(rng: random.Random, source: TypeSource) -> CqlType:
    """A type for a key column: mostly a scalar."""
    if rng.random() < 0.75:
        return scalar(rng.choice(_KEY_SCALARS))
    return random_type(rng, source, 2, is_key=True).frozen()


def random_user_type(rng: random.Random, source: TypeSource, name: str) -> CqlType:
    """A user type of fields with at most two levels."""
    fields = rng.randrange(1, 7) if rng.random() < 0.9 else rng.randrange(17, 40)
    return user_type(name, [(f"f{i}", random_type(rng, source, 2).frozen()) for i in range(fields)])


def has_duration(of: CqlType) -> bool:
    return of.name == "duration" or any(has_duration(each) for each in of.of)


def resolved(of: CqlType, user_types: Mapping[str, CqlType]) -> CqlType:
    """The type with its user types as they are by now."""
    if of.fields:
        newest = user_types[of.name]
        return replace(
            newest,
            of=tuple(resolved(each, user_types) for each in newest.of),
            is_frozen=of.is_frozen,
        )
    return replace(of, of=tuple(resolved(each, user_types) for each in of.of))
