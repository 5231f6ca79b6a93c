"""CQL literals of random values, with the extremes of every type among them."""

import random
import uuid
from collections.abc import Callable
from decimal import Decimal

from tests.support.workloads.cql_types import CqlType

_ALPHABET = "abcxyz XYZ019_'\"\\;äßçЖ漢字😀\n"
_TIMEUUIDS = (
    "00000000-0000-1000-8000-000000000000",
    "ffffffff-ffff-1fff-bfff-ffffffffffff",
    "50554d6e-29bb-11e5-b345-feff819cdc9f",
    "d2177dd0-eaa2-11de-a572-001b779c76e3",
)

EDGES: dict[str, tuple[str, ...]] = {
    "ascii": ("''", "'ascii'", "'it''s'", "'~ !'"),
    "bigint": ("0", "1", "-1", "9223372036854775807", "-9223372036854775808", "9007199254740993"),
    "blob": ("0x", "0x00", "0xff", "0xcafebabe"),
    "boolean": ("true", "false"),
    "date": ("'1970-01-01'", "'2024-02-29'", "'1969-12-31'", "'-5877641-06-23'", "'4294967295'"),
    "decimal": ("0", "0.0", "1.50", "-12345.6789", "1E+10", "-1E-10", "1E300", "99999999999999.9"),
    "double": ("0.0", "-0.0", "1.5", "NaN", "Infinity", "-Infinity", "5E-324", "-1.5E308"),
    "duration": ("1mo2d3h4m5s6ms7us8ns", "0ns", "-1y2mo", "12h30m", "-5d", "21474836mo"),
    "float": ("0.0", "-0.0", "1.25", "NaN", "Infinity", "-Infinity", "1.0E-45", "3.4E38"),
    "inet": ("'192.0.2.1'", "'0.0.0.0'", "'::1'", "'2001:db8::ff00:42:8329'", "'255.255.255.255'"),
    "int": ("0", "1", "-1", "2147483647", "-2147483648", "65536"),
    "smallint": ("0", "1", "-1", "32767", "-32768"),
    "text": ("''", "'a'", "'naïve – 漢字 😀'", "'it''s \"quoted\"'", "'line\nbreak\ttab'"),
    "time": ("'00:00:00'", "'23:59:59.999999999'", "'12:34:56.789'", "'08:00:00.000001'"),
    "timestamp": ("0", "-1", "1709210096789", "'2024-02-29T12:34:56.789Z'", "253402300799999"),
    "timeuuid": _TIMEUUIDS,
    "tinyint": ("0", "1", "-1", "127", "-128"),
    "uuid": (
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "6ab09bec-e68e-48d9-a5f8-97e6fb4c9b47",
        *_TIMEUUIDS[2:],
    ),
    "varint": ("0", "-1", "127", "128", "-129", "123456789012345678901234567890", "-" + "9" * 60),
}
"""Extremes and oddities of each scalar type. The last date is a number of days, whose zero is
1970-01-01 minus 2**31 days; there is no other way to write it."""


def literal(rng: random.Random, of: CqlType, *, nulls: bool = True) -> str:
    """A literal of the type; half of the scalars come from `EDGES`.

    `nulls` lets null stand inside tuples and user types, where CQL allows it.
    """
    if of.name == "vector":
        return _sequence(rng, of.of[0], of.dimension, "[]", nulls=nulls)
    if of.name == "list":
        return _sequence(rng, of.of[0], rng.randrange(4), "[]", nulls=nulls)
    if of.name == "set":
        return _sequence(rng, of.of[0], rng.randrange(4), "{}", nulls=nulls)
    if of.name == "map":
        key, value = of.of
        return map_literal(
            [
                (literal(rng, key, nulls=nulls), literal(rng, value, nulls=nulls))
                for _ in range(rng.randrange(4))
            ]
        )
    if of.name == "tuple":
        return "(" + ", ".join(_maybe_null(rng, each, nulls) for each in of.of) + ")"
    if of.fields:
        given = [pair for pair in zip(of.fields, of.of, strict=True) if rng.random() < 0.8]
        given = given or [(of.fields[0], of.of[0])]
        return "{" + ", ".join(f"{n}: {_maybe_null(rng, each, nulls)}" for n, each in given) + "}"
    if rng.random() < 0.5:
        return rng.choice(EDGES[of.name])
    return _SCALARS[of.name](rng)


def map_literal(entries: list[tuple[str, str]]) -> str:
    """`{k: v, …}` of literals."""
    return "{" + ", ".join(f"{key}: {value}" for key, value in dict(entries).items()) + "}"


def text_literal(text: str) -> str:
    """A text in quotes."""
    return "'" + text.replace("'", "''") + "'"


def empty_literal(of: CqlType) -> str:
    """An empty value (no bytes at all) of a scalar type."""
    if of.name in ("ascii", "text"):
        return "''"
    return "0x" if of.name == "blob" else f"blobAs{of.name.capitalize()}(0x)"


def _sequence(rng: random.Random, of: CqlType, size: int, brackets: str, *, nulls: bool) -> str:
    elements = [literal(rng, of, nulls=nulls) for _ in range(size)]
    if brackets == "{}":
        elements = list(dict.fromkeys(elements))
    return brackets[0] + ", ".join(elements) + brackets[1]


def _maybe_null(rng: random.Random, of: CqlType, nulls: bool) -> str:
    return "null" if nulls and rng.random() < 0.15 else literal(rng, of, nulls=nulls)


def _integer(bits: int) -> Callable[[random.Random], str]:
    return lambda rng: str(rng.randrange(-(1 << rng.randrange(bits)), 1 << rng.randrange(bits)))


def _text(rng: random.Random) -> str:
    return text_literal("".join(rng.choices(_ALPHABET, k=rng.randrange(1, 24))))


def _decimal(rng: random.Random) -> str:
    return str(Decimal(rng.randrange(-(10**12), 10**12)).scaleb(-rng.randrange(9)))


def _duration(rng: random.Random) -> str:
    months, days, nanoseconds = rng.randrange(30), rng.randrange(90), rng.randrange(1, 10**14)
    return f"{rng.choice(('', '-'))}{months}mo{days}d{nanoseconds}ns"


def _inet(rng: random.Random) -> str:
    if rng.random() < 0.5:
        return "'" + ".".join(str(rng.randrange(256)) for _ in range(4)) + "'"
    return "'" + ":".join(f"{rng.randrange(1 << 16):x}" for _ in range(8)) + "'"


def _time(rng: random.Random) -> str:
    hours, minutes, seconds = rng.randrange(24), rng.randrange(60), rng.randrange(60)
    return f"'{hours:02}:{minutes:02}:{seconds:02}.{rng.randrange(10**9):09}'"


_SCALARS: dict[str, Callable[[random.Random], str]] = {
    "ascii": lambda rng: text_literal("".join(rng.choices("abc XYZ-0'", k=rng.randrange(1, 12)))),
    "bigint": _integer(63),
    "blob": lambda rng: "0x" + rng.randbytes(rng.randrange(1, 40)).hex(),
    "boolean": lambda rng: rng.choice(("true", "false")),
    "date": lambda rng: f"'{rng.randrange(1900, 2100)}-{rng.randrange(1, 13):02}-17'",
    "decimal": _decimal,
    "double": lambda rng: repr(rng.uniform(-1e6, 1e6)),
    "duration": _duration,
    "float": lambda rng: repr(round(rng.uniform(-1e3, 1e3), 3)),
    "inet": _inet,
    "int": _integer(31),
    "smallint": _integer(15),
    "text": _text,
    "time": _time,
    "timestamp": lambda rng: str(rng.randrange(-(10**12), 4 * 10**12)),
    "timeuuid": lambda rng: str(
        uuid.UUID(fields=(rng.getrandbits(32), rng.getrandbits(16), 0x11EE, 0x80, 1, 0x0102))
    ),
    "tinyint": _integer(7),
    "uuid": lambda rng: str(uuid.UUID(int=rng.getrandbits(128), version=4)),
    "varint": lambda rng: str(rng.randrange(-(1 << 200), 1 << 200) >> rng.randrange(200)),
}
