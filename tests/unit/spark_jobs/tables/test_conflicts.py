"""Actions that conflict with other commits."""

from typing import Any, cast

import pytest

from spark_jobs.tables.conflicts import ATTEMPTS, ConflictError, repeated
from spark_jobs.tables.format.protocol import TypedTable


class Conflicting:
    """A table with a number of conflicts ahead."""

    sql_name = "lake.shop.carts"

    def __init__(self, conflicts: int) -> None:
        self.conflicts = conflicts

    def is_conflict(self, error: Exception) -> bool:
        return isinstance(error, OSError)

    def commit(self) -> str:
        if self.conflicts:
            self.conflicts -= 1
            raise OSError("another commit came first")
        return "committed"


def run(table: Conflicting, act: Any) -> str:
    return cast(str, repeated(cast(TypedTable, table), act))


def test_an_action_is_repeated_until_it_has_no_conflict() -> None:
    table = Conflicting(ATTEMPTS - 1)
    assert run(table, table.commit) == "committed"
    table = Conflicting(ATTEMPTS)
    with pytest.raises(ConflictError, match=f"carts: {ATTEMPTS} attempts conflicted"):
        run(table, table.commit)


def test_another_error_is_raised_at_once() -> None:
    table = Conflicting(0)
    with pytest.raises(ZeroDivisionError):
        run(table, lambda: 1 / 0)
