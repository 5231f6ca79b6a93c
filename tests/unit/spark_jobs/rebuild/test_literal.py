"""Literals of raw values; Cassandra reads them as the same values."""

import struct
from uuid import UUID

import pytest

from spark_jobs.rebuild.literal import literal, quoted
from spark_jobs.rebuild.table_layout import parse_class

PACKAGE = "org.apache.cassandra.db.marshal."
USER = f"{PACKAGE}UserType(ks,{b'point'.hex()},{b'x'.hex()}:{PACKAGE}Int32Type,{b'Y'.hex()}:"
USER += f"{PACKAGE}FrozenType({PACKAGE}ListType({PACKAGE}UTF8Type)))"


def number(value: int, size: int = 4) -> bytes:
    return value.to_bytes(size, "big", signed=True)


def sized(*values: bytes | None) -> bytes:
    return b"".join(number(-1) if each is None else number(len(each)) + each for each in values)


CASES = {
    "AsciiType": {b"it's": "'it''s'", b"": "''", b"a\nb": "blobAsAscii(0x610a62)"},
    "UTF8Type": {"ä😀".encode(): "'ä😀'", b"\r": "blobAsText(0x0d)"},
    "BytesType": {b"": "0x", b"\xca\xfe": "0xcafe"},
    "BooleanType": {b"\0": "false", b"\1": "true", b"\2": "blobAsBoolean(0x02)"},
    "ByteType": {b"\x80": "-128"},
    "ShortType": {b"\x7f\xff": "32767"},
    "Int32Type": {number(-5): "-5", b"": "blobAsInt(0x)"},
    "LongType": {number(1 << 53 | 1, 8): "9007199254740993"},
    "IntegerType": {number(-129, 2): "-129", b"\1" * 2000: f"blobAsVarint(0x{'01' * 2000})"},
    "DecimalType": {
        number(2) + number(150, 2): "1.50",
        number(2) + number(-5, 1): "-0.05",
        number(0) + number(7, 1): "7",
        number(-3) + number(12, 1): "12E+3",
        number(300) + number(1, 1): "1E-300",
        number(2) + b"\0": "0.00",
    },
    "FloatType": {
        struct.pack(">f", 0.1): "0.100000001",
        struct.pack(">f", 3): "3.0",
        bytes.fromhex("7fc00000"): "NaN",
        bytes.fromhex("7fc00001"): "blobAsFloat(0x7fc00001)",
        bytes.fromhex("ff800000"): "-Infinity",
    },
    "DoubleType": {
        struct.pack(">d", -0.0): "-0.0",
        struct.pack(">d", 5e-324): "4.9406564584124654e-324",
    },
    "SimpleDateType": {struct.pack(">I", 1 << 31): "'1970-01-01'", struct.pack(">I", 5): "'5'"},
    "TimeType": {number(45_296_000_000_007, 8): "'12:34:56.000000007'"},
    "TimestampType": {
        number(1709210096789, 8): "'2024-02-29T12:34:56.789Z'",
        number(-(1 << 60), 8): "-1152921504606846976",
    },
    "UUIDType": {UUID(int=5).bytes: "00000000-0000-0000-0000-000000000005"},
    "InetAddressType": {
        b"\xc0\0\2\1": "'192.0.2.1'",
        b"\0" * 15 + b"\1": "'::1'",
        b"\0" * 10 + b"\xff\xff\xc0\0\2\1": f"blobAsInet(0x{'00' * 10}ffffc0000201)",
    },
    "DurationType": {
        bytes.fromhex("020406"): "1mo2d3ns",
        bytes.fromhex("010000"): "-1mo0d0ns",
        bytes.fromhex("f1000000000000"): "blobAsDuration(0xf1000000000000)",
    },
    f"ListType({PACKAGE}Int32Type)": {number(2) + sized(number(1), number(2)): "[1, 2]"},
    f"SetType({PACKAGE}UTF8Type)": {number(1) + sized(b"a"): "{'a'}", number(0): "{}"},
    f"MapType({PACKAGE}UTF8Type,{PACKAGE}BytesType)": {
        number(1) + sized(b"a", b"\1"): "{'a': 0x01}"
    },
    f"TupleType({PACKAGE}Int32Type,{PACKAGE}UTF8Type)": {
        sized(None, b"x"): "(null, 'x')",
        sized(number(1)): "(1, null)",
    },
    f"VectorType({PACKAGE}FloatType , 2)": {struct.pack(">ff", 1, 2.5): "[1.0, 2.5]"},
    f"VectorType({PACKAGE}UTF8Type, 2)": {b"\1a\x80\xc8" + b"b" * 200: f"['a', '{'b' * 200}']"},
    USER.removeprefix(PACKAGE): {
        sized(number(1), number(1) + sized(b"y")): '{"x": 1, "Y": [\'y\']}'
    },
}


@pytest.mark.parametrize("name", CASES)
def test_literals_represent_raw_values(name: str) -> None:
    of = parse_class(PACKAGE + name)
    assert {raw: literal(of, raw) for raw in CASES[name]} == CASES[name]


def test_cql_names_are_quoted() -> None:
    assert quoted('a"B') == '"a""B"'


def test_column_type_classes_are_parsed() -> None:
    assert parse_class(USER).is_multi_cell
    frozen = parse_class(f"{PACKAGE}FrozenType({USER})")
    assert not frozen.is_multi_cell and frozen.fields == ("x", "Y")
    assert parse_class(f"{PACKAGE}ReversedType({PACKAGE}Int32Type)").name == "int"


def test_unknown_type_class_has_no_literals() -> None:
    of = parse_class("com.example.Own(a)")
    assert not of.is_known
    with pytest.raises(ValueError, match=r"no literals of the type com\.example\.Own"):
        literal(of, b"")
