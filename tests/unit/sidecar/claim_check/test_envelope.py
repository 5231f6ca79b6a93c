import json
import random

import pytest

from sidecar.claim_check.envelope import SplitValue, split_value


def resolved(parts: SplitValue) -> object:
    return json.loads(parts.reference) | json.loads(parts.stored)


def test_values_are_stored_and_the_rest_stays() -> None:
    value = b'{"ts_ms":1,"op":"i","source":{"a":[1,{"after":2}]},"after":{"x":1},"cells":{}}'
    assert split_value(value) == SplitValue(
        b'{"ts_ms":1,"op":"i","source":{"a":[1,{"after":2}]},"after":null,"cells":null}',
        b'{"after":{"x":1},"cells":{}}',
    )


def test_bytes_of_members_stay_as_they_are() -> None:
    content = b'{ "n" : 123456789012345678901234567890.10, "n": 1e400 ,"t":"\\u00e4\\"}{:,"}'
    parts = split_value(b'{"after" : ' + content + b' , "op":"u"}')
    assert parts is not None
    assert parts.stored == b'{"after":' + content + b"}"
    assert json.loads(parts.reference) == {"after": None, "op": "u"}


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"null",
        b'"after"',
        b'[{"after":1}]',
        b"\0\0\0\0\1x",
        b'{"a":1}',
        b'{"after":null}',
        b'{"after":{"a":1}',
        b"{}",
    ],
)
def test_value_without_members_to_store_is_not_split(value: bytes) -> None:
    assert split_value(value) is None


def test_members_of_a_transform_are_stored_when_they_are_large() -> None:
    value = {"source": {"t": "x" * 5000}, "note": "y" * 5000, "small": "z", "op": "c"}
    parts = split_value(json.dumps(value).encode())
    assert parts is not None
    assert json.loads(parts.stored) == {"note": "y" * 5000}
    assert resolved(parts) == value


def test_any_json_is_whole_again() -> None:
    chance = random.Random(7)
    texts = ["", "a", '"', "\\", "}{][:,", '\\\\"', "ä\u2028\n", "x" * 2000]

    def some(depth: int) -> object:
        kind = chance.randrange(6 if depth else 3)
        if kind < 3:
            return [chance.choice(texts), chance.randrange(1 << 60), None][kind]
        if kind == 3:
            return [some(depth - 1) for _ in range(chance.randrange(4))]
        return {chance.choice(texts) + str(i): some(depth - 1) for i in range(chance.randrange(4))}

    split = 0
    for _ in range(500):
        value = {"op": "u", "source": some(2), "after": some(3), "cells": some(3), "more": some(2)}
        names = list(value)
        chance.shuffle(names)
        mixed = {name: value[name] for name in names}
        indent, ascii_only = chance.choice([None, 1]), chance.random() < 0.5
        parts = split_value(json.dumps(mixed, indent=indent, ensure_ascii=ascii_only).encode())
        if parts is None:
            assert value["after"] is None
            assert value["cells"] is None
            continue
        split += 1
        assert resolved(parts) == value
        assert list(json.loads(parts.reference)) == names
    assert split > 300
