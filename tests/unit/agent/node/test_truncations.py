"""Truncated and dropped tables, and their acknowledgement by an operator."""

from collections.abc import Mapping
from pathlib import Path
from struct import pack
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.node import truncations
from agent.node.truncations import (
    Acknowledgements,
    Drop,
    PublishedTables,
    Truncation,
    parse_truncations,
    read_truncations,
)
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
def test_truncation_entry_is_parsed(segment: int, position: int, at_ms: int) -> None:
    blob = pack(">q", segment) + pack(">i", position) + pack(">q", at_ms)
    entries = {ID: blob, OTHER_ID: blob[:-1]}
    assert list(parse_truncations(entries)) == [Truncation(str(ID), segment, position, at_ms)]


@pytest.mark.parametrize("entries", [None, {}])
def test_node_without_truncations_yields_none(entries: object) -> None:
    assert read_truncations(Node(entries)) == ()  # type: ignore[arg-type]


def test_truncations_before_first_start_are_not_reported(tmp_path: Path) -> None:
    found = Acknowledgements(tmp_path)
    assert found.open_ones([FIRST], NAMES) == {}
    found.begin([FIRST])
    assert found.open_ones([FIRST], NAMES) == {}
    found.begin([LATER])
    assert found.open_ones([LATER], NAMES) == {"shop.orders": LATER}
    assert found.open_ones([LATER], {}) == {}


def test_acknowledgement_covers_truncations_until_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


DROPPABLE = ("shop.a", "shop.b", "shop.c")
STATEMENTS = st.sampled_from(["create", "create unpublished", "publish", "drop", "acknowledge"])


@given(st.lists(st.tuples(STATEMENTS, st.sampled_from(DROPPABLE)), max_size=30))
def test_drop_of_published_table_is_reported_until_acknowledged(
    statements: list[tuple[str, str]],
) -> None:
    """After every statement a restarted agent reads the node's tables."""
    tables: dict[str, tuple[str, bool]] = {}
    expected: dict[str, int] = {}
    with TemporaryDirectory() as folder:
        Acknowledgements(Path(folder)).begin([])
        for now_ms, (statement, name) in enumerate(statements):
            with patch.object(truncations, "_now_ms", lambda now_ms=now_ms: str(now_ms)):
                if statement.startswith("create") and name not in tables:
                    tables[name] = (f"{name}-{now_ms}", statement == "create")
                elif statement == "publish" and name in tables:
                    tables[name] = (tables[name][0], True)
                elif statement == "drop" and name in tables:
                    if tables.pop(name)[1]:
                        expected[name] = now_ms
                elif statement == "acknowledge":
                    Acknowledgements(Path(folder)).acknowledge([name])
                    expected.pop(name, None)
                assert open_drops(Path(folder), tables) == expected


def open_drops(folder: Path, tables: Mapping[str, tuple[str, bool]]) -> dict[str, int]:
    published = {key: name for name, (key, is_published) in tables.items() if is_published}
    PublishedTables(folder).note(published, {key for key, _ in tables.values()})
    found = Acknowledgements(folder).open_drops(PublishedTables(folder).dropped())
    assert found == {name: Drop(name, each.noticed_ms) for name, each in found.items()}
    return {name: each.noticed_ms for name, each in found.items()}


def test_reappearing_table_was_not_dropped(tmp_path: Path) -> None:
    """A starting node may return an incomplete schema."""
    tables = PublishedTables(tmp_path)
    tables.note({"1": "shop.a"}, {"1"})
    tables.note({}, set())
    assert [each.name for each in tables.dropped()] == ["shop.a"]
    tables.note({}, {"1"})
    assert list(tables.dropped()) == []
