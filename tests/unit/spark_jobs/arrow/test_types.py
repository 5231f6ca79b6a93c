"""Every type, nested three levels deep, compared with the Python driver's decoding.

Multi-cell collections and user types arrive as elements, one per cell, in any order."""

import struct
from typing import Any

import pyarrow as pa
import pytest
from cassandra.util import uuid_from_time
from hypothesis import given, settings
from hypothesis import strategies as st

from commitlog import MalformedValueError, Schema
from spark_jobs.arrow import Decoder
from tests.oracle.merge.typed import time_uuid_order
from tests.support.events.cql_values import (
    VALUES,
    counted,
    nullable,
    raw,
    schema_text,
    sized,
    types,
)
from tests.support.events.driver_values import driver_value
from tests.support.events.exact_values import exact
from tests.support.workloads import cql_types
from tests.support.workloads.cql_types import SCALARS, CqlType


def decoded(cql_type: CqlType, values: list[bytes | None], **choices: Any) -> pa.Array:
    decoder = Decoder(Schema.from_cql(schema_text({"v": cql_type})), "ks", "t", **choices)
    typed = decoder.decode(pa.record_batch({"v": pa.array(values, pa.binary())}))
    typed.validate(full=True)
    assert typed.schema == decoder.schema
    return typed.column("v")


@given(st.data())
def test_decoded_values_match_driver(data: st.DataObject) -> None:
    cql_type = data.draw(types())
    values = data.draw(st.lists(nullable(cql_type), min_size=1, max_size=4))
    expected = [driver_value(cql_type, value) for value in values]
    assert exact(decoded(cql_type, values).to_pylist()) == exact(expected)


@pytest.mark.parametrize("name", SCALARS)
@settings(max_examples=30)
@given(st.data())
def test_native_values_match_driver(name: str, data: st.DataObject) -> None:
    cql_type = CqlType(name)
    values = data.draw(st.lists(nullable(cql_type), min_size=1, max_size=20))
    expected = [driver_value(cql_type, value) for value in values]
    assert exact(decoded(cql_type, values).to_pylist()) == exact(expected)


def test_native_types_have_arrow_types() -> None:
    schema = Schema.from_cql(schema_text({name: CqlType(name) for name in SCALARS}))
    text, long = pa.string(), pa.int64()
    duration = pa.struct([("months", pa.int32()), ("days", pa.int32()), ("nanoseconds", long)])
    expected = {
        "ascii": text,
        "bigint": long,
        "blob": pa.binary(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "decimal": text,
        "double": pa.float64(),
        "duration": duration,
        "float": pa.float32(),
        "inet": text,
        "int": pa.int32(),
        "smallint": pa.int16(),
        "text": text,
        "time": long,
        "timestamp": pa.timestamp("us", "UTC"),
        "timeuuid": text,
        "tinyint": pa.int8(),
        "uuid": text,
        "varint": text,
    }
    found = Decoder(schema, "ks", "t").schema
    assert found.names == ["k", *sorted(SCALARS)]
    assert {name: found.field(name).type for name in SCALARS} == expected


def test_extreme_dates_and_timestamps_are_decoded() -> None:
    """Values outside the years 1 to 9999 are decoded too."""
    days = decoded(CqlType("date"), [struct.pack(">I", day) for day in (0, 1 << 31, 2**32 - 1)])
    assert days.cast(pa.int32()).to_pylist() == [-(2**31), 0, 2**31 - 1]
    millis = 2**63 // 1000
    times = decoded(CqlType("timestamp"), [struct.pack(">q", at) for at in (millis, -millis)])
    assert times.cast(pa.int64()).to_pylist() == [millis * 1000, -millis * 1000]


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, max_value=10**15))
def test_decimals_of_one_scale_become_decimal128(value: Any) -> None:
    sign, digits, exponent = value.as_tuple()
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    written = struct.pack(">i", -exponent) + unscaled.to_bytes(20, "big", signed=True)
    if abs(value) < 10**35:
        found = decoded(CqlType("decimal"), [written], show={"v": "decimal(38,3)"})
        assert (found.type, found.to_pylist()) == (pa.decimal128(38, 3), [value])


@given(VALUES["varint"])
def test_varints_become_decimal128(written: bytes) -> None:
    number = int.from_bytes(written, "big", signed=True)
    if abs(number) < 10**38:
        found = decoded(CqlType("varint"), [written], show={"v": "decimal(38,0)"})
        assert [int(value) for value in found.to_pylist()] == [number]


@given(st.data())
def test_raw_values_stay_unchanged(data: st.DataObject) -> None:
    cql_type = data.draw(types(depth=2))
    values = data.draw(st.lists(st.none() | raw(cql_type), max_size=4))
    assert decoded(cql_type, values, show={"v": "raw"}).to_pylist() == values


Elements = list[tuple[bytes, bytes | None]]
ELEMENTS = pa.list_(pa.struct([("path", pa.binary()), ("value", pa.binary())]))


def decoded_elements(cql_type: CqlType, rows: list[Elements | None], **choices: Any) -> pa.Array:
    schema = Schema.from_cql(schema_text({"v": cql_type}, is_frozen=False))
    decoder = Decoder(schema, "ks", "t", **choices)
    elements = [
        None if row is None else [{"path": path, "value": value} for path, value in row]
        for row in rows
    ]
    typed = decoder.decode(pa.record_batch({"v": pa.array(elements, ELEMENTS)}))
    typed.validate(full=True)
    assert typed.schema == decoder.schema
    return typed.column("v")


def element_types() -> st.SearchStrategy[CqlType]:
    return types(depth=2).map(CqlType.frozen)


@given(st.data())
def test_lists_are_ordered_by_time_of_paths(data: st.DataObject) -> None:
    of = data.draw(element_types())
    paths = st.uuids(version=1).map(lambda path: path.bytes)
    elements: Elements = data.draw(
        st.lists(st.tuples(paths, raw(of)), max_size=4, unique_by=lambda element: element[0])
    )
    in_order = sorted(elements, key=lambda element: time_uuid_order(element[0]))
    frozen = counted(len(elements), [value for _, value in in_order])
    cql_type = cql_types.list_of(of)
    expected = driver_value(cql_type, frozen) if elements else None
    assert exact(decoded_elements(cql_type, [elements]).to_pylist()) == exact([expected])


@pytest.mark.parametrize(
    ("name", "ordered"),
    [
        ("int", [struct.pack(">i", number) for number in (-(2**31), -1, 0, 1, 2**31 - 1)]),
        ("double", [struct.pack(">d", x) for x in (float("-inf"), -1.5, -0.0, 0.0, 2.0)]),
        ("varint", [b"\xfe\x00", b"\xff", b"\x00", b"\x7f", b"\x00\x80"]),
        ("decimal", [struct.pack(">ib", *of) for of in ((1, -5), (9, 1), (0, 1))]),
        ("text", [b"", b"a", b"a\x00", b"b"]),
        ("timeuuid", [uuid_from_time(second, 0, 0).bytes for second in (0, 2**20, 2**31)]),
    ],
)
@given(st.data())
def test_sets_and_maps_are_ordered_by_type(
    name: str, ordered: list[bytes], data: st.DataObject
) -> None:
    """The order is that of `SELECT`, not that of the bytes."""
    shuffled = data.draw(st.permutations(ordered))
    of = CqlType(name)
    in_order = [driver_value(of, value) for value in ordered]
    found = decoded_elements(cql_types.set_of(of), [[(path, b"") for path in shuffled]])
    assert exact(found.to_pylist()) == exact([in_order])
    pairs: Elements = [(path, sized(path)) for path in shuffled]
    entries = decoded_elements(cql_types.map_of(of, CqlType("blob")), [pairs])
    assert exact(entries.to_pylist()) == exact(
        [list(zip(in_order, map(sized, ordered), strict=True))]
    )


@given(st.data())
def test_user_type_contains_every_field(data: st.DataObject) -> None:
    of = data.draw(st.lists(element_types(), min_size=1, max_size=4))
    cql_type = cql_types.user_type("outer", [(f"f{at}", field) for at, field in enumerate(of)])
    values = [data.draw(st.none() | raw(field)) for field in of]
    elements: Elements = [
        (struct.pack(">H", at), value) for at, value in enumerate(values) if value is not None
    ]
    expected = driver_value(cql_type, b"".join(map(sized, values))) if elements else None
    shuffled = data.draw(st.permutations(elements))
    assert exact(decoded_elements(cql_type, [shuffled]).to_pylist()) == exact([expected])


def test_collection_without_elements_is_null() -> None:
    """In Cassandra an empty multi-cell collection is null."""
    for cql_type in (
        cql_types.list_of(CqlType("int")),
        cql_types.set_of(CqlType("int")),
        cql_types.map_of(CqlType("int"), CqlType("int")),
        cql_types.user_type("outer", [("f0", CqlType("int"))]),
    ):
        assert decoded_elements(cql_type, [None, []]).to_pylist() == [None, None]


def test_raw_elements_stay_unchanged() -> None:
    rows: list[Elements | None] = [[(b"b", b"1"), (b"a", None)], None]
    found = decoded_elements(cql_types.set_of(CqlType("text")), rows, show={"v": "raw"})
    assert found.to_pylist() == [
        [{"path": b"b", "value": b"1"}, {"path": b"a", "value": None}],
        None,
    ]


@pytest.mark.parametrize(
    ("cql_type", "path", "value", "cause"),
    [
        (cql_types.set_of(CqlType("int")), b"\0", b"", "1 bytes; expected 4"),
        (cql_types.list_of(CqlType("int")), bytes(16), b"\0", "1 bytes; expected 4"),
        (cql_types.map_of(CqlType("int"), CqlType("int")), b"", b"", "a null key"),
        (cql_types.user_type("outer", [("f0", CqlType("int"))]), b"\0\1", b"", "no field 1"),
        (cql_types.user_type("outer", [("f0", CqlType("int"))]), b"\0", b"", "1 bytes; expected 2"),
    ],
)
def test_malformed_elements_are_rejected(
    cql_type: CqlType, path: bytes, value: bytes, cause: str
) -> None:
    with pytest.raises(MalformedValueError, match=rf"ks\.t, column v, row 1.*{cause}"):
        decoded_elements(cql_type, [None, [(path, value)]])
