"""Which published tables a node no longer has."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from agent.node import drops, truncations
from agent.node.drops import Drop, PublishedTables
from agent.node.truncations import Acknowledgements

NAMES = ("shop.a", "shop.b", "shop.c")
STATEMENTS = st.sampled_from(["create", "create unpublished", "publish", "drop", "acknowledge"])


@given(st.lists(st.tuples(STATEMENTS, st.sampled_from(NAMES)), max_size=30))
def test_each_drop_of_a_published_table_is_open_until_it_is_acknowledged(
    statements: list[tuple[str, str]],
) -> None:
    """After every statement the agent looks at the node, and may have been restarted."""
    tables: dict[str, tuple[str, bool]] = {}
    expected: dict[str, int] = {}
    with TemporaryDirectory() as folder:
        Acknowledgements(Path(folder)).begin([])
        for now_ms, (statement, name) in enumerate(statements):
            with (
                patch.object(drops, "_now_ms", lambda now_ms=now_ms: str(now_ms)),
                patch.object(truncations, "_now_ms", lambda now_ms=now_ms: str(now_ms)),
            ):
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


def test_a_table_that_is_seen_again_was_not_dropped(tmp_path: Path) -> None:
    """A node answers with half of a schema while it starts."""
    tables = PublishedTables(tmp_path)
    tables.note({"1": "shop.a"}, {"1"})
    tables.note({}, set())
    assert [each.name for each in tables.dropped()] == ["shop.a"]
    tables.note({}, {"1"})
    assert list(tables.dropped()) == []
