"""Primitive encodings, values and LZ4 blocks, by the examples of the format notes."""

from decimal import Decimal
from ipaddress import ip_address
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.reference import lz4
from tests.oracle.reference.cql_types import (
    Collection,
    CqlType,
    Custom,
    Native,
    Tuple,
    UserType,
    Vector,
    fixed_length,
)
from tests.oracle.reference.cursor import Cursor
from tests.oracle.reference.errors import MalformedError
from tests.oracle.reference.times import signed
from tests.oracle.reference.values import Duration, Shard, read_element, read_key, read_value
from tests.oracle.writer import lz4_literals, uvint

INT, TEXT = Native("int"), Native("text")
ADDRESS = UserType("k", "address", (("street", TEXT), ("no", INT)), frozen=True)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (127, "7f"),
        (128, "8080"),
        (300, "812c"),
        (16383, "bfff"),
        (16384, "c04000"),
        (2097151, "dfffff"),
        (2097152, "e0200000"),
        (268435456, "f010000000"),
        (1 << 35, "f80800000000"),
        (1 << 49, "fe02000000000000"),
        ((1 << 56) - 1, "feffffffffffffff"),
        (1 << 56, "ff0100000000000000"),
        ((1 << 64) - 1, "ffffffffffffffffff"),
    ],
)
def test_unsigned_integers(value: int, encoded: str) -> None:
    assert Cursor(bytes.fromhex(encoded)).uvint() == value
    assert uvint(value).hex() == encoded


def test_a_longer_form_of_an_integer_is_read_too() -> None:
    assert Cursor(bytes.fromhex("80 05")).uvint() == 5
    assert Cursor(bytes.fromhex("ff 0000000000000005")).uvint() == 5


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_signed_integers_are_zig_zag(value: int) -> None:
    cursor = Cursor(uvint((value << 1 ^ value >> 63) & (1 << 64) - 1))
    assert cursor.vint() == value
    assert cursor.at_end()


@given(st.integers(-(1 << 70), 1 << 70))
def test_arithmetic_wraps_around(value: int) -> None:
    assert signed(value, 32) == int.from_bytes(
        (value & 0xFFFFFFFF).to_bytes(4, "big"), "big", signed=True
    )


@given(st.binary(max_size=8))
def test_no_primitive_reads_behind_the_end(data: bytes) -> None:
    for read in (Cursor.uvint, Cursor.vbytes, Cursor.uuid):
        cursor = Cursor(data)
        try:
            read(cursor)
        except MalformedError:
            continue
        assert cursor.offset <= len(data)


@pytest.mark.parametrize(
    ("cql_type", "encoded", "value"),
    [
        (Native("ascii"), "61", "a"),
        (TEXT, "c3bc", "ü"),
        (TEXT, "", ""),
        (Native("blob"), "00ff", b"\x00\xff"),
        (Native("boolean"), "01", True),
        (Native("tinyint"), "ff", -1),
        (Native("smallint"), "8000", -32768),
        (INT, "", None),
        (Native("bigint"), "0000000000000001", 1),
        (Native("varint"), "ff7f", -129),
        (Native("decimal"), "00000002 ff85", Decimal("-1.23")),
        (Native("decimal"), "fffffffe 01", Decimal("1E+2")),
        (Native("float"), "3fc00000", 1.5),
        (Native("double"), "3ff8000000000000", 1.5),
        (Native("date"), "80000000", 0),
        (Native("time"), "00004e94914effff", 86_399_999_999_999),
        (Native("timestamp"), "ffffffffffffffff", -1),
        (Native("duration"), "01 03 05", Duration(-1, -2, -3)),
        (Native("uuid"), "00" * 15 + "01", UUID(int=1)),
        (Native("inet"), "7f000001", ip_address("127.0.0.1")),
        (Native("inet"), "00" * 15 + "01", ip_address("::1")),
        (Collection("list", None, INT, True), "00000001 00000004 00000007", (7,)),
        (
            Collection("map", TEXT, INT, True),
            "00000001 00000001 61 00000004 00000007",
            (("a", 7),),
        ),
        (Tuple((INT, TEXT)), "00000004 00000007 ffffffff", (7, None)),
        (ADDRESS, "00000001 61", {"street": "a", "no": None}),
        (Vector(Native("float"), 2), "3fc00000 3fc00000", (1.5, 1.5)),
        (Vector(TEXT, 2), "01 61 02 6262", ("a", "bb")),
        (Vector(Vector(TEXT, 1), 2), "02 01 61 02 01 62", (("a",), ("b",))),
        (
            Native("counter"),
            "0001 8000" + "00" * 15 + "07" + "0000000000000002 0000000000000005",
            (Shard(UUID(int=7), 2, 5),),
        ),
        (Custom("org.example.Type"), "00ff", b"\x00\xff"),
    ],
)
def test_values(cql_type: CqlType, encoded: str, value: Any) -> None:
    assert read_value(cql_type, bytes.fromhex(encoded)) == value


@pytest.mark.parametrize(
    ("cql_type", "encoded"),
    [
        (INT, "000007"),
        (Collection("list", None, INT, True), "00000002 00000004 00000007"),
        (Collection("list", None, INT, True), "00000000 00"),
        (Tuple((INT,)), "00000004 00000007 ffffffff"),
        (Vector(Native("float"), 2), "3fc00000"),
        (Vector(Native("float"), 2), ""),
        (Native("duration"), "01 03 05 00"),
    ],
)
def test_values_of_another_form_are_rejected(cql_type: CqlType, encoded: str) -> None:
    with pytest.raises(MalformedError):
        read_value(cql_type, bytes.fromhex(encoded))


def test_small_integers_and_dates_have_a_length_although_their_size_is_fixed() -> None:
    with_length = [t for t in ("tinyint", "smallint", "date", "time") if fixed_length(Native(t))]
    assert with_length == []
    assert fixed_length(INT) == 4
    assert fixed_length(Vector(Vector(INT, 3), 2)) == 24
    assert fixed_length(Vector(Native("smallint"), 3)) is None
    assert fixed_length(Custom("org.apache.cassandra.db.marshal.EmptyType")) == 0


def test_a_composite_key_has_its_columns_between_lengths_and_zeros() -> None:
    key = bytes.fromhex("0001 61 00 0004 00000007 00 0000 00")
    assert read_key((TEXT, INT, TEXT), key) == ("a", 7, "")
    assert read_key((TEXT,), b"a") == ("a",)
    with pytest.raises(MalformedError, match="end-of-component"):
        read_key((TEXT, TEXT), bytes.fromhex("0001 61 01 0001 61 00"))


def test_elements_of_complex_columns_are_named_by_their_path() -> None:
    place = UUID("24000000-e5c9-11f1-998c-b39dc08f01bb")
    number = bytes.fromhex("00000007")
    as_list = Collection("list", None, INT, False)
    assert read_element(as_list, place.bytes, number) == (place, 7)
    assert read_element(Collection("set", None, INT, False), number, b"") == (7, None)
    assert read_element(Collection("map", INT, TEXT, False), number, b"a") == (7, "a")
    assert read_element(Collection("map", INT, TEXT, False), number, None) == (7, None)
    assert read_element(ADDRESS, b"\x00\x01", number) == ("no", 7)
    with pytest.raises(MalformedError, match="2 fields"):
        read_element(ADDRESS, b"\x00\x02", number)


@given(st.binary(max_size=700))
def test_lz4_literals(content: bytes) -> None:
    assert lz4.decompress(lz4_literals(content)) == content


def test_an_lz4_match_may_overlap_itself() -> None:
    # "a", then a match of 4 + 15 + 2 bytes, one byte back; then the literal "b".
    assert lz4.decompress(bytes.fromhex("17000000 1f 61 0100 02 10 62")) == b"a" * 22 + b"b"
    # "abc", then 6 bytes, 3 back.
    assert lz4.decompress(bytes.fromhex("09000000 32 616263 0300 00")) == b"abcabcabc"


@pytest.mark.parametrize(
    "framed",
    [
        "000000",
        "01000000",
        "02000000 10 61",
        "01000000 20 6161",
        "09000000 32 616263 0400 00",
        "09000000 32 616263 0000 00",
        "08000000 32 616263 0300 00",
        "ff000000 f0 ff",
    ],
)
def test_bad_lz4_blocks_are_rejected(framed: str) -> None:
    with pytest.raises(MalformedError):
        lz4.decompress(bytes.fromhex(framed))
