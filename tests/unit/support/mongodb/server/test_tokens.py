"""Tokens match those of real MongoDB servers, and keys sort as in BSON."""

import base64
from typing import Any
from uuid import UUID

import pytest
from bson import Decimal128, Int64, MaxKey, MinKey, ObjectId, Timestamp
from hypothesis import given
from hypothesis import strategies as st

from tests.support.mongodb.server.errors import CommandError
from tests.support.mongodb.server.key_string import order, type_bits
from tests.support.mongodb.server.tokens import event_token, high_water_mark, parse_token

# From the manual (change streams, "Resume Tokens") and from events that users published.
MARK_V2 = "8263515EAC000000022B0429296E1404"
INSERT_V2 = (
    "82635019A0000000012B042C0100296E5A1004AB1154ACACD849A48C61756D70D3B21F463C6F7065726174696F6E54"
    "797065003C696E736572740046646F63756D656E744B65790046645F69640064635019A078BE67426D7CF4D2000004"
)
INVALIDATE_V2 = (
    "82669683C2000000052B042C0100296F5A1004413F85D5B4CF4680AA4D17641E9DF22D463C6F7065726174696F6E54"
    "797065003C64726F70000004"
)
INSERT_V1 = (
    "825E8DB54F000000012B022C0100296E5A1004BDB3105CB8B44265BB704E58E8EA8B0446645F696400645E8DB54FF3"
    "68D1BC67ABE7AE0004"
)
NUMBER_KEYS_V1 = {
    1.0: (
        "825DEFAD7F000000022B022C0100296E5A100464FD9F727D5D40EC96C7C03D3B636406461E5F6964002B020004"
    ),
    150: (
        "825EF9DA10000010942B022C0100296E5A1004AA912A6620E34D39AD16C7B19795AEE9461E5F6964002C012C00"
        "04"
    ),
    1006: (
        "8264CA64AA000000012B022C0100296E5A1004EC8904C0A5C64C609F8BC7E3FA983506461E5F6964002C07DC00"
        "04"
    ),
    632368455327866: (
        "8263ED0F8C000000622B022C0100296E5A100463B6F177E0FD4903B80618784767A672461E5F69640031047E45824B"
        "40F40004"
    ),
}


def time_in(token: str) -> Timestamp:
    return Timestamp(int(token[2:10], 16), int(token[10:18], 16))


def collection_in(token: str) -> UUID:
    return UUID(token.partition("5A1004")[2][:32])


def test_high_water_mark_matches_recorded_token() -> None:
    assert high_water_mark(Timestamp(1666277036, 2), 2) == MARK_V2
    assert high_water_mark(Timestamp(1666277036, 2), 1) == "8263515EAC000000022B0229296E04"


def made(token: str, version: int, operation: str, key: Any, is_invalidate: bool = False) -> str:
    found = event_token(
        time_in(token),
        version,
        index=0,
        collection=collection_in(token),
        operation=operation,
        key={"_id": key} if key is not None else None,
        description=None,
        is_invalidate=is_invalidate,
    )
    return str(found["_data"])


def test_event_tokens_match_recorded_tokens() -> None:
    key = ObjectId("635019a078be67426d7cf4d2")
    assert made(INSERT_V2, 2, "insert", key) == INSERT_V2
    assert made(INVALIDATE_V2, 2, "drop", None, is_invalidate=True) == INVALIDATE_V2
    assert made(INSERT_V1, 1, "insert", ObjectId("5e8db54ff368d1bc67abe7ae")) == INSERT_V1


@pytest.mark.parametrize("key", NUMBER_KEYS_V1)
def test_number_keys_match_recorded_tokens(key: float) -> None:
    assert made(NUMBER_KEYS_V1[key], 1, "insert", key) == NUMBER_KEYS_V1[key]


@pytest.mark.parametrize(
    ("version", "identifier", "types"),
    [
        (1, {"_id": ObjectId(), "n": 7, "s": "text"}, ""),
        (1, {"id": 11.597, "_id": ObjectId()}, "QA=="),
        (1, {"_id": {"foo": 1.0, "bar": 2.0}}, "gkAB"),
        (
            2,
            {
                "operationType": "modify",
                "operationDescription": {
                    "index": {"name": "expiresAt_1", "expireAfterSeconds": Int64(7200)}
                },
            },
            "ggAC",
        ),
    ],
)
def test_type_bits_encode_number_types(version: int, identifier: Any, types: str) -> None:
    """Expected values come from tokens that users published; an int32 and a text need no type
    bits."""
    time, collection = Timestamp(1, 1), collection_in(INSERT_V1)
    found = type_bits(time, version, 128, 0, False, collection, identifier)
    assert base64.b64encode(found).decode() == types


@pytest.mark.parametrize("token", [MARK_V2, INSERT_V2, INVALIDATE_V2, INSERT_V1])
def test_token_is_parsed(token: str) -> None:
    position = parse_token({"_data": token})
    assert position.time == time_in(token)
    assert position.version == (1 if token is INSERT_V1 else 2)
    assert position.is_event is (token is not MARK_V2)
    assert position.is_invalidate is (token is INVALIDATE_V2)


@pytest.mark.parametrize(
    ("token", "code"),
    [
        ({}, 40647),
        ({"_data": 1}, 40647),
        ({"_data": MARK_V2, "_typeBits": 1}, 40648),
        ({"_data": "zz"}, 9),
        ({"_data": MARK_V2[:-1]}, 9),
        ({"_data": ""}, 40649),
        ({"_data": "FF" + MARK_V2[2:]}, 50811),
        ({"_data": "82"}, 15),
        ({"_data": MARK_V2[:18]}, 50796),
        ({"_data": MARK_V2.replace("2B04", "2B10")}, 50795),
        ({"_data": INSERT_V2[:60]}, 15),
    ],
)
def test_invalid_token_is_rejected(token: Any, code: int) -> None:
    with pytest.raises(CommandError) as caught:
        parse_token(token)
    assert caught.value.code == code


EXPONENTS = st.integers(-6176, 6111) | st.integers(-20, 20)
DECIMALS = st.builds(
    lambda digits, exponent: Decimal128(f"{digits}E{exponent}"),
    st.integers(-(10**34) + 1, 10**34 - 1) | st.integers(-9, 9),
    EXPONENTS,
)
NUMBERS = (
    st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | DECIMALS
    | st.sampled_from(["Infinity", "-Infinity", "0.1", "1E+400", "-1E+400"]).map(Decimal128)
)


@given(NUMBERS, NUMBERS)
def test_numbers_keep_order_in_tokens(left: Any, right: Any) -> None:
    # Python compares numbers of all kinds by their exact values, as BSON does.
    numbers = [
        each.to_decimal() if isinstance(each, Decimal128) else each for each in (left, right)
    ]
    assert (order(left) < order(right)) is (numbers[0] < numbers[1])
    assert (order(left) == order(right)) is (numbers[0] == numbers[1])


@given(st.text(), st.text())
def test_texts_keep_order_in_tokens(left: str, right: str) -> None:
    assert (order(left) < order(right)) is (left.encode() < right.encode())


def test_types_keep_order_in_tokens() -> None:
    values: list[Any] = [
        MinKey(),
        None,
        -1,
        2.5,
        "a",
        {},
        {"a": 1},
        [],
        [1],
        b"x",
        ObjectId(),
        False,
        True,
    ]
    values += [Timestamp(1, 1), MaxKey()]
    keys = [order(value) for value in values]
    assert keys == sorted(keys)
