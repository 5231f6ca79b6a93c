"""Random CQL types, each with a way to make values that the driver can bind."""

import math
import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from cassandra.util import Date, Duration, Time

Make = Callable[[Random], Any]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WORDS = (
    "",
    "a",
    "b",
    "ab",
    "z\u00fcrich",
    "\u65e5\u672c",
    "it's",
    'say "no"',
    "line\nbreak",
    "x" * 300,
)
_ADDRESSES = ("127.0.0.1", "10.1.2.3", "::1", "2001:db8::ff")


@dataclass(frozen=True, slots=True)
class ValueType:
    """A frozen type. `key` makes values that are equal only if their bytes are; none is empty."""

    cql: str
    value: Make
    key: Make | None
    """None: not for keys, set elements and map keys."""


@dataclass(frozen=True, slots=True)
class CollectionType:
    """A non-frozen list, set or map; `key` is None but for a map."""

    kind: str
    key: ValueType | None
    element: ValueType

    @property
    def cql(self) -> str:
        inner = [each.cql for each in (self.key, self.element) if each is not None]
        return f"{self.kind}<{', '.join(inner)}>"

    def value(self, random: Random) -> Any:
        count = random.choice((0, 1, 2, 3))
        if self.kind == "map":
            return dict(self.entry(random) for _ in range(count))
        if self.kind == "set":
            return {self.path(random) for _ in range(count)}
        return [self.element.value(random) for _ in range(count)]

    def path(self, random: Random) -> Any:
        """An element of a set, a key of a map."""
        made = (self.key or self.element).key
        assert made is not None
        return made(random)

    def entry(self, random: Random) -> tuple[Any, Any]:
        return self.path(random), self.element.value(random)


@dataclass(frozen=True, slots=True)
class UserType:
    """A user type as a column's type, not frozen."""

    name: str
    fields: tuple[tuple[str, ValueType], ...]

    @property
    def cql(self) -> str:
        return self.name

    def value(self, random: Random) -> Any:
        return tuple(
            None if random.random() < 0.3 else field.value(random) for _, field in self.fields
        )

    def frozen(self) -> ValueType:
        return ValueType(f"frozen<{self.name}>", self.value, None)


AnyType = ValueType | CollectionType | UserType


def _integer(bits: int) -> Make:
    limit = 1 << (bits - 1)
    edges = (0, 1, -1, limit - 1, -limit)
    return lambda random: (
        random.choice(edges) if random.random() < 0.4 else random.randrange(-limit, limit)
    )


def _few(make: Make) -> Make:
    """Small whole numbers made into something, so that elements of collections meet."""
    return lambda random: make(Random(random.randrange(5)))


def _word(random: Random) -> str:
    return random.choice(_WORDS)


def _real(form: str) -> Make:
    """Any value of the type, by its bytes; NaN, infinity and -0.0 more often than by chance."""
    size_bytes = struct.calcsize(form)

    def make(random: Random) -> float:
        if random.random() < 0.3:
            return random.choice((0.0, -0.0, math.nan, math.inf, -math.inf))
        (number,) = struct.unpack(form, random.randbytes(size_bytes))
        return float(number)

    return make


def _half(random: Random) -> float:
    return random.randrange(-8, 8) + 0.5


def _decimal(random: Random) -> Decimal:
    # A last digit other than 0 leaves one way to write each number.
    return Decimal(random.randrange(-9999, 9999) * 10 + 1).scaleb(-random.randrange(-2, 6))


def _varint(random: Random) -> int:
    return random.randrange(-(1 << random.randrange(1, 100)), 1 << random.randrange(1, 100))


def _timestamp(random: Random) -> datetime:
    moment = _EPOCH + timedelta(milliseconds=random.randrange(-(10**12), 4 * 10**12))
    return moment.replace(tzinfo=None)


def _time_uuid(random: Random) -> uuid.UUID:
    return uuid.UUID(
        fields=(
            random.randrange(1 << 32),
            random.randrange(1 << 16),
            0x1000 | random.randrange(1 << 12),
            0x80 | random.randrange(1 << 6),
            random.randrange(1 << 8),
            random.randrange(1 << 48),
        )
    )


def _uuid(random: Random) -> uuid.UUID:
    return uuid.UUID(bytes=random.randbytes(16), version=4)


def _duration(random: Random) -> Duration:
    sign = random.choice((1, -1))
    return Duration(
        sign * random.randrange(30), sign * random.randrange(400), sign * random.randrange(10**14)
    )


def _not_empty(make: Make) -> Make:
    return lambda random: make(random) or make(Random(1)) or "e"


def _native(cql: str, value: Make, key: Make | None = None) -> ValueType:
    return ValueType(cql, value, _few(key or value))


NATIVE_TYPES = (
    _native(
        "ascii", lambda random: random.choice(("", "a", "ab", "~")), lambda r: f"a{r.random()}"
    ),
    _native("bigint", _integer(64)),
    _native(
        "blob",
        lambda random: random.randbytes(random.choice((0, 1, 4, 700))),
        lambda r: r.randbytes(3),
    ),
    _native("boolean", lambda random: random.random() < 0.5),
    _native("date", lambda random: Date(random.randrange(-40_000, 40_000))),
    _native("decimal", _decimal),
    _native("double", _real(">d"), _half),
    _native("float", _real(">f"), _half),
    _native("inet", lambda random: random.choice(_ADDRESSES)),
    _native("int", _integer(32)),
    _native("smallint", _integer(16)),
    _native("text", _word, _not_empty(_word)),
    _native("time", lambda random: Time(random.randrange(86_400 * 10**9))),
    _native("timestamp", _timestamp),
    _native("timeuuid", _time_uuid),
    _native("tinyint", _integer(8)),
    _native("uuid", _uuid),
    _native("varint", _varint),
)
DURATION = ValueType("duration", _duration, None)


def random_value_type(random: Random, depth: int = 2, *, vectors: bool = True) -> ValueType:
    """Native mostly; else a duration, vector, tuple or frozen collection with types within."""
    if depth == 0 or random.random() < 0.65:
        return random.choice(NATIVE_TYPES)
    kind = random.choice(("duration", "vector", "tuple", "list", "set", "map"))
    if kind == "duration":
        return DURATION
    if kind == "vector":
        return _vector(random.randrange(1, 4)) if vectors else DURATION
    if kind == "tuple":
        return _tuple(
            [
                random_value_type(random, depth - 1, vectors=vectors)
                for _ in range(random.randrange(1, 4))
            ]
        )
    collection = random_collection_type(random, kind, depth - 1, vectors=vectors)
    return ValueType(f"frozen<{collection.cql}>", collection.value, None)


def random_key_type(random: Random) -> ValueType:
    """A type for primary keys."""
    if random.random() < 0.1:
        return _tuple(random.choices(NATIVE_TYPES, k=2))
    return random.choice(NATIVE_TYPES)


def random_collection_type(
    random: Random, kind: str, depth: int = 1, *, vectors: bool = True
) -> CollectionType:
    """A list, set or map."""
    if kind == "set":
        return CollectionType(kind, None, random.choice(NATIVE_TYPES))
    key = random.choice(NATIVE_TYPES) if kind == "map" else None
    return CollectionType(kind, key, random_value_type(random, depth, vectors=vectors))


def _vector(dimension: int) -> ValueType:
    def make(random: Random) -> list[float]:
        return [_half(random) for _ in range(dimension)]

    return ValueType(f"vector<float, {dimension}>", make, None)


def _tuple(fields: list[ValueType]) -> ValueType:
    def value(random: Random) -> Any:
        return tuple(None if random.random() < 0.2 else field.value(random) for field in fields)

    def key(random: Random) -> Any:
        return tuple(field.key(random) for field in fields if field.key)

    cql = f"frozen<tuple<{', '.join(field.cql for field in fields)}>>"
    return ValueType(cql, value, key if all(field.key for field in fields) else None)
