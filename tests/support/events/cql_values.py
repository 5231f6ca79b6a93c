"""Random types to a depth of three, and raw bytes of random values of them."""

import struct
import zlib
from collections.abc import Callable, Iterable

from hypothesis import strategies as st

from tests.support.workloads import cql_types
from tests.support.workloads.cql_types import NEVER_EMPTY, SCALARS, CqlType

# Python's dates end in the year 9999.
DAYS = st.integers(-719_162, 2_932_896)
MILLIS = st.integers(-62_135_596_800_000, 253_402_300_799_999)
EMPTY_IS_A_VALUE = ("ascii", "text", "blob")
# Written without a length in a vector.
FIXED_LENGTHS = {"boolean", "int", "float", "bigint", "double", "timestamp", "uuid", "timeuuid"}


def packed(form: str, numbers: st.SearchStrategy[int]) -> st.SearchStrategy[bytes]:
    return numbers.map(lambda number: struct.pack(form, number))


def integers(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


def unsigned_vint(number: int) -> bytes:
    """Leading ones of the first byte count the bytes that follow it."""
    extra = max(0, (number.bit_length() - 1) // 7)
    if extra >= 8:
        return b"\xff" + number.to_bytes(8, "big")
    return (number | ((0xFF << (8 - extra)) & 0xFF) << (8 * extra)).to_bytes(extra + 1, "big")


def signed_vint(number: int) -> bytes:
    return unsigned_vint((number << 1 ^ number >> 63) & (1 << 64) - 1)


@st.composite
def durations(draw: st.DrawFn) -> bytes:
    sign = draw(st.sampled_from((1, -1)))
    parts = [draw(st.integers(0, bits)) for bits in (2**31 - 1, 2**31 - 1, 2**63 - 1)]
    return b"".join(signed_vint(sign * part) for part in parts)


VALUES: dict[str, st.SearchStrategy[bytes]] = {
    "ascii": st.text(st.characters(max_codepoint=127), min_size=1).map(str.encode),
    "bigint": integers(8),
    "blob": st.binary(min_size=1),
    "boolean": st.sampled_from((b"\0", b"\1")),
    "date": DAYS.map(lambda days: struct.pack(">I", days + (1 << 31))),
    "decimal": st.builds(
        lambda scale, unscaled: struct.pack(">i", scale) + unscaled,
        st.integers(-50, 50),
        st.binary(min_size=1, max_size=20),
    ),
    "double": integers(8),
    "duration": durations(),
    "float": integers(4),
    "inet": st.one_of(
        integers(4), integers(16), integers(4).map(lambda v4: bytes(10) + b"\xff\xff" + v4)
    ),
    "int": integers(4),
    "smallint": integers(2),
    "text": st.text(min_size=1).map(str.encode),
    "time": packed(">q", st.integers(0, 86_399_999_999_999)),
    "timestamp": packed(">q", MILLIS),
    "timeuuid": st.uuids(version=1).map(lambda value: value.bytes),
    "tinyint": integers(1),
    "uuid": integers(16),
    "varint": st.binary(min_size=1, max_size=40),
}


@st.composite
def types(draw: st.DrawFn, depth: int = 3) -> CqlType:
    """A type with at most so many levels; inside of it everything is frozen."""
    if depth == 1:
        return CqlType(draw(st.sampled_from(SCALARS)))
    inner = types(depth - 1).map(CqlType.frozen)
    keys = inner.filter(lambda of: "duration" not in of.cql)
    match draw(st.sampled_from(("scalar", "list", "set", "map", "tuple", "user", "vector"))):
        case "list":
            return cql_types.list_of(draw(inner))
        case "set":
            return cql_types.set_of(draw(keys))
        case "map":
            return cql_types.map_of(draw(keys), draw(inner))
        case "tuple":
            return cql_types.tuple_of(*draw(st.lists(inner, min_size=1, max_size=3)))
        case "vector":
            return cql_types.vector_of(draw(inner), draw(st.integers(1, 3)))
        case "user":
            of = draw(st.lists(inner, min_size=1, max_size=3))
            # Types of one name have the same fields.
            name = f"u{zlib.crc32(repr(of).encode())}"
            return cql_types.user_type(name, [(f"f{at}", field) for at, field in enumerate(of)])
    return CqlType(draw(st.sampled_from(SCALARS)))


def can_be_empty(cql_type: CqlType) -> bool:
    """Whether zero bytes of it are something that both readers take."""
    return cql_type.name not in NEVER_EMPTY


@st.composite
def raw(draw: st.DrawFn, cql_type: CqlType) -> bytes:
    """Bytes of a value that is not empty, or an empty text or blob."""
    name = cql_type.name
    if name in VALUES:
        if name in EMPTY_IS_A_VALUE and draw(st.integers(0, 5)) == 0:
            return b""
        return draw(VALUES[name])
    match name:
        case "list" | "set":
            elements = draw(st.lists(nullable(cql_type.of[0]), max_size=3))
            return counted(len(elements), elements)
        case "map":
            key_type, value = cql_type.of
            keys = draw(st.lists(raw(key_type), max_size=3, unique=True))
            pairs = [part for key in keys for part in (key, draw(nullable(value)))]
            return counted(len(keys), pairs)
        case "vector":
            (of,) = cql_type.of
            values = [draw(raw(of)) for _ in range(cql_type.dimension)]
            if has_fixed_length(of):
                return b"".join(values)
            return b"".join(unsigned_vint(len(value)) + value for value in values)
    # A tuple or user type; it may end before its last fields.
    fields = [draw(nullable(of)) for of in cql_type.of]
    return b"".join(map(sized, fields[: draw(st.integers(1, len(fields)))]))


def nullable(cql_type: CqlType) -> st.SearchStrategy[bytes | None]:
    """Bytes of a value, no bytes, or a null."""
    empty = st.just(b"") if can_be_empty(cql_type) else st.nothing()
    return st.one_of(raw(cql_type), raw(cql_type), st.none(), empty)


def has_fixed_length(cql_type: CqlType) -> bool:
    if cql_type.name == "vector":
        return has_fixed_length(cql_type.of[0])
    return cql_type.name in FIXED_LENGTHS


def sized(value: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if value is None else struct.pack(">i", len(value)) + value


def counted(count: int, parts: Iterable[bytes | None]) -> bytes:
    return struct.pack(">i", count) + b"".join(map(sized, parts))


def schema_text(columns: dict[str, CqlType], *, is_frozen: bool = True) -> str:
    """CQL of `ks.t` with these columns, and of all user types in them, inner ones first."""
    declared: dict[str, str] = {}

    def declare(of: CqlType) -> None:
        for inner in of.of:
            declare(inner)
        if of.fields:
            declared[of.name] = cql_types.create_type("ks", of) + ";"

    for of in columns.values():
        declare(of)
    written: Callable[[CqlType], CqlType] = CqlType.frozen if is_frozen else lambda of: of
    texts = [f"{name} {written(of).cql}" for name, of in columns.items()]
    table = (
        f"CREATE TABLE ks.t (k int PRIMARY KEY, {', '.join(texts)}) "
        "WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18;"
    )
    return "\n".join([*declared.values(), table])
