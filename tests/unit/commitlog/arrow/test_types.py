"""Every type, nested three levels deep, against the Python driver's own reading of the bytes."""

import struct
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitlog import Schema
from commitlog.arrow import Decoder
from tests.support.events.cql_values import VALUES, nullable, raw, schema_text, types
from tests.support.events.driver_values import driver_value
from tests.support.events.exact_values import exact
from tests.support.workloads.cql_types import SCALARS, CqlType


def decoded(cql_type: CqlType, values: list[bytes | None], **choices: Any) -> pa.Array:
    schema = Schema.from_cql(schema_text({"v": cql_type}))
    decoder = Decoder(schema, "ks", "t", **choices)
    batch = pa.record_batch({"v": pa.array(values, pa.binary())})
    typed = decoder.decode(batch)
    typed.validate(full=True)
    assert typed.schema == decoder.schema
    return typed.column("v")


@given(st.data())
def test_values_are_those_of_the_driver(data: st.DataObject) -> None:
    cql_type = data.draw(types())
    values = data.draw(st.lists(nullable(cql_type), min_size=1, max_size=4))
    expected = [driver_value(cql_type, value) for value in values]
    assert exact(decoded(cql_type, values).to_pylist()) == exact(expected)


@pytest.mark.parametrize("name", SCALARS)
@settings(max_examples=30)
@given(st.data())
def test_native_values_are_those_of_the_driver(name: str, data: st.DataObject) -> None:
    cql_type = CqlType(name)
    values = data.draw(st.lists(nullable(cql_type), min_size=1, max_size=20))
    expected = [driver_value(cql_type, value) for value in values]
    assert exact(decoded(cql_type, values).to_pylist()) == exact(expected)


def test_a_type_for_each_native_one() -> None:
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


def test_every_day_and_every_time_that_has_microseconds() -> None:
    """What lies outside of the years 1 to 9999 is there all the same."""
    days = decoded(CqlType("date"), [struct.pack(">I", day) for day in (0, 1 << 31, 2**32 - 1)])
    assert days.cast(pa.int32()).to_pylist() == [-(2**31), 0, 2**31 - 1]
    millis = 2**63 // 1000
    times = decoded(CqlType("timestamp"), [struct.pack(">q", at) for at in (millis, -millis)])
    assert times.cast(pa.int64()).to_pylist() == [millis * 1000, -millis * 1000]


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, max_value=10**15))
def test_decimals_of_one_scale(value: Any) -> None:
    sign, digits, exponent = value.as_tuple()
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    written = struct.pack(">i", -exponent) + unscaled.to_bytes(20, "big", signed=True)
    if abs(value) < 10**35:
        found = decoded(CqlType("decimal"), [written], show={"v": "decimal(38,3)"})
        assert found.type == pa.decimal128(38, 3)
        assert found.to_pylist() == [value]


@given(VALUES["varint"])
def test_whole_numbers_as_decimals(written: bytes) -> None:
    number = int.from_bytes(written, "big", signed=True)
    if abs(number) < 10**38:
        found = decoded(CqlType("varint"), [written], show={"v": "decimal(38,0)"})
        assert [int(value) for value in found.to_pylist()] == [number]


@given(st.data())
def test_raw_values_stay_as_they_are(data: st.DataObject) -> None:
    cql_type = data.draw(types(depth=2))
    values = data.draw(st.lists(st.none() | raw(cql_type), max_size=4))
    assert decoded(cql_type, values, show={"v": "raw"}).to_pylist() == values
