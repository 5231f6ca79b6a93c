"""Column lists with arbitrary names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config.lists import column_entries, column_parts

NAMES = st.text(min_size=1, max_size=8) | st.text('.," ab', min_size=1, max_size=6)
COLUMNS = st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=4)


def quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


@given(COLUMNS, st.sampled_from([",", " , ", ",,"]))
def test_quoted_columns_may_have_any_name(
    columns: list[tuple[str, str, str]], between: str
) -> None:
    text = between.join(".".join(map(quoted, column)) for column in columns)
    entries = column_entries(text)
    assert isinstance(entries, tuple)
    assert [column_parts(entry) for entry in entries] == columns


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", []),
        ("shop.orders.total, shop.users.name,", ["total", "name"]),
        ('shop.orders."net.price",shop.orders.first name', ["net.price", "first name"]),
        ('shop.orders.12" disk', ['12" disk']),
    ],
)
def test_quotes_in_column_lists_are_optional(text: str, columns: list[str]) -> None:
    entries = column_entries(text)
    assert isinstance(entries, tuple)
    assert [column_parts(entry)[2] for entry in entries] == columns


@pytest.mark.parametrize(
    "text", ["orders.total", "a.b.c.d", "a..c", "a.b.", 'a.b."c', 'a.b."c"d', 'a.b.c,"d"']
)
def test_column_entry_without_three_parts_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"each must be `keyspace.table.column`"):
        column_entries(text)


def test_column_list_of_only_commas_is_rejected() -> None:
    with pytest.raises(ValueError, match="entry between its commas"):
        column_entries(" , ")
