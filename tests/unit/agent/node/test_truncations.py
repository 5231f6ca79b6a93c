"""Truncations that a node records, and which of them are acknowledged."""

from pathlib import Path
from struct import pack
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.node import truncations
from agent.node.truncations import Acknowledgements, Truncation, parse_truncations, read_truncations
from sidecar.errors import ConfigError

ID, OTHER_ID = UUID(int=7), UUID(int=8)
NAMES = {str(ID): "shop.orders"}
FIRST = Truncation(str(ID), 1_700_000_000_000, 42, 1_700_000_000_500)
LATER = Truncation(str(ID), 1_700_000_000_001, 7, 1_700_000_009_000)


class Node:
    def __init__(self, entries: Any) -> None:
        self._entries = entries

    def rows(self, query: str) -> list[dict[str, Any]]:
        assert query == "SELECT truncated_at FROM system.local"
        return [{"truncated_at": self._entries}]


@given(st.integers(0, 2**63 - 1), st.integers(-1, 2**31 - 1), st.integers(0, 2**63 - 1))
def test_an_entry_has_the_form_of_cassandra(segment: int, position: int, at_ms: int) -> None:
    blob = pack(">q", segment) + pack(">i", position) + pack(">q", at_ms)
    entries = {ID: blob, OTHER_ID: blob[:-1]}
    assert list(parse_truncations(entries)) == [Truncation(str(ID), segment, position, at_ms)]


@pytest.mark.parametrize("entries", [None, {}])
def test_a_node_without_truncations(entries: object) -> None:
    assert read_truncations(Node(entries)) == ()  # type: ignore[arg-type]


def test_those_before_the_first_start_are_known(tmp_path: Path) -> None:
    found = Acknowledgements(tmp_path)
    assert found.open_ones([FIRST], NAMES) == {}
    found.begin([FIRST])
    assert found.open_ones([FIRST], NAMES) == {}
    found.begin([LATER])
    assert found.open_ones([LATER], NAMES) == {"shop.orders": LATER}
    assert found.open_ones([LATER], {}) == {}


def test_a_command_takes_note_until_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Acknowledgements(tmp_path)
    with pytest.raises(ConfigError, match="no agent has started"):
        found.acknowledge(["shop.orders"])
    found.begin([])
    monkeypatch.setattr(truncations, "_now_ms", lambda: str(FIRST.at_ms))
    assert found.open_ones([FIRST], NAMES) == {"shop.orders": FIRST}
    found.acknowledge(["shop.other"])
    assert found.open_ones([FIRST], NAMES) == {"shop.orders": FIRST}
    found.acknowledge(["shop.orders"])
    assert found.open_ones([FIRST], NAMES) == {}
    assert found.open_ones([LATER], NAMES) == {"shop.orders": LATER}
