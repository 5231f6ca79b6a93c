"""Parsing of foreign documents uses bounded memory."""

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.bounded_json import MAX_VALUES, bounded_json, value_bound

SIZE = 256 << 10
BOMBS = {
    "lists": b"[" + b"[]," * (SIZE // 3 - 2) + b"1]",
    "objects": b"[" + b"{}," * (SIZE // 3 - 2) + b"1]",
    "members": b"{" + b",".join(b'"%x":{}' % n for n in range(SIZE // 11)) + b"}",
    "floats": b"[" + b"1e1," * (SIZE // 4 - 2) + b"1]",
    "texts": b"[" + b'"\xc4\x80",' * (SIZE // 5 - 2) + b"1]",
    "deep lists": b"[" * SIZE,
    "closed deep lists": b"[" * (SIZE // 2) + b"]" * (SIZE // 2),
    "deep objects": b'{"":' * (SIZE // 4),
    "deep within few values": b"[" * 20_000 + b"]" * 20_000,
    "one text": b'"' + b"a" * (SIZE - 2) + b'"',
    "escapes": b'"' + b"\\u0100" * (SIZE // 6 - 1) + b'"',
    "one number": b"1" * SIZE,
    "one fraction": b"0." + b"1" * (SIZE - 2),
    "spaces": b" " * SIZE,
    "broken text": b"\xff" * SIZE,
}


def peak_of(work: Callable[[], Any]) -> int:
    """Return the peak of the bytes that Python allocates during `work`."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", BOMBS)
def test_json_bomb_is_parsed_in_bounded_memory(name: str) -> None:
    def parse() -> None:
        try:
            bounded_json(BOMBS[name], SIZE)
        except ValueError as error:
            assert "\n" not in str(error)

    assert peak_of(parse) < 8 << 20


@given(st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=20))
def test_ordinary_json_documents_are_read(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    assert value_bound(text) >= text.count(b",")
    if not any("\ud800" <= each <= "\udfff" for each in str(value)):
        assert bounded_json(text, 1 << 20) == value


def test_exceeded_json_bound_is_reported_with_reason() -> None:
    with pytest.raises(ValueError, match="more than 3 bytes"):
        bounded_json(b"1234", 3)
    with pytest.raises(ValueError, match=f"more than {MAX_VALUES} values"):
        bounded_json(b"[" + b"1," * MAX_VALUES + b"1]", SIZE)
    with pytest.raises(ValueError, match="nested too deeply"):
        bounded_json(BOMBS["deep within few values"], SIZE)
