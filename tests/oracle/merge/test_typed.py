"""Raw elements decoded as the driver decodes values of Cassandra."""

import uuid
from decimal import Decimal
from typing import Any

import pytest
from cassandra import cqltypes
from cassandra.util import Date, Duration, SortedSet
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.merge.plain import plain, plain_clustering
from tests.oracle.merge.typed import PROTOCOL_VERSION, serialized, time_uuid_order

INT = cqltypes.Int32Type
TEXT = cqltypes.UTF8Type


def raw(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


def read(cql_type: Any, *elements: tuple[bytes, bytes]) -> Any:
    return cql_type.from_binary(serialized(cql_type, elements), PROTOCOL_VERSION)


def test_sets_hold_their_paths() -> None:
    assert set(read(cqltypes.SetType.apply_parameters([INT]), (raw(-1), b""), (raw(2), b""))) == {
        -1,
        2,
    }


def test_maps_hold_paths_and_values() -> None:
    types = cqltypes.MapType.apply_parameters([TEXT, INT])
    assert dict(read(types, (b"a", raw(1)), (b"b", raw(2)))) == {"a": 1, "b": 2}


def test_lists_are_in_the_order_of_their_times() -> None:
    """Not in the order of their bytes, which begin with the low part of the time."""
    later, earlier = (
        uuid.UUID(fields=(time_low, time_mid, 0x1000, 0x80, 0x80, 1))
        for time_low, time_mid in ((0, 1), (0xFFFFFFFF, 0))
    )
    assert later.bytes < earlier.bytes
    types = cqltypes.ListType.apply_parameters([INT])
    assert read(types, (later.bytes, raw(2)), (earlier.bytes, raw(1))) == [1, 2]


def test_user_types_have_a_place_for_each_field() -> None:
    types = cqltypes.UserType.make_udt_class("ks", "udt_of_test", ("a", "b", "c"), (INT, TEXT, INT))
    assert tuple(read(types, (b"\x00\x01", b"x"))) == (None, "x", None)


@given(st.integers(0, (1 << 60) - 1), st.integers(0, (1 << 60) - 1))
def test_time_order_of_uuids(left_time: int, right_time: int) -> None:
    def path(time: int) -> bytes:
        fields = (time & 0xFFFFFFFF, time >> 32 & 0xFFFF, 0x1000 | time >> 48, 0x80, 0, 0)
        return uuid.UUID(fields=fields).bytes

    left, right = path(left_time), path(right_time)
    assert (time_uuid_order(left) < time_uuid_order(right)) == (left_time < right_time)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (float("nan"), float("nan"), True),
        (0.0, -0.0, False),
        ([1.5, None], [1.5, None], True),
        (SortedSet([1, 2]), {2, 1}, True),
        ((1, "a"), (1, "a"), True),
        (Date(3), Date(4), False),
        (Duration(1, 2, 3), Duration(1, 2, 3), True),
        (None, b"", False),
    ],
)
def test_equal_values_are_the_same_values(left: Any, right: Any, same: bool) -> None:
    assert (plain(left) == plain(right)) is same


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (Decimal("1.0"), Decimal("1.00"), True),
        (Decimal("0E+2"), Decimal("0.0"), True),
        (Decimal("1.0"), Decimal("1.01"), False),
        ({Decimal("1.0"): [Decimal(2)]}, {Decimal("1.00"): [Decimal("2.0")]}, True),
        (0.0, -0.0, False),
    ],
)
def test_clusterings_that_name_one_row(left: Any, right: Any, same: bool) -> None:
    assert (plain_clustering(left) == plain_clustering(right)) is same
