"""Actions that conflict with other commits."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import pytest

from spark_jobs.tables.commits import ATTEMPTS, ConflictError, repeated
from spark_jobs.tables.format.typed_table import TypedTable

TABLE = cast(
    TypedTable,
    SimpleNamespace(
        sql_name="lake.shop.carts", is_conflict=lambda error: isinstance(error, OSError)
    ),
)


def commit(conflicts: int) -> Callable[[], str]:
    """An action with a number of conflicts ahead."""
    ahead = [OSError("another commit came first")] * conflicts

    def act() -> str:
        if ahead:
            raise ahead.pop()
        return "committed"

    return act


def test_an_action_is_repeated_until_it_has_no_conflict() -> None:
    assert repeated(TABLE, commit(ATTEMPTS - 1)) == "committed"
    with pytest.raises(ConflictError, match=f"carts: {ATTEMPTS} attempts conflicted"):
        repeated(TABLE, commit(ATTEMPTS))


def test_another_error_is_raised_at_once() -> None:
    with pytest.raises(ZeroDivisionError):
        repeated(TABLE, lambda: 1 / 0)
