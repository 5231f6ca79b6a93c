"""Failures of Cassandra that end a read, and those that pass."""

import time
from collections.abc import Iterator

import pytest
from cassandra import AuthenticationFailed, OperationTimedOut, Unauthorized
from cassandra.cluster import NoHostAvailable

from spark_jobs.compare import cassandra_pages

PASSING = (OperationTimedOut("late"), NoHostAvailable("away", {"a": OSError()}))
FINAL = (
    Unauthorized("no SELECT"),
    NoHostAvailable("no login", {"a": AuthenticationFailed("wrong password")}),
)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


def failing(*errors: Exception) -> Iterator[Exception | None]:
    yield from errors
    yield None


@pytest.mark.parametrize(
    ("errors", "expected"), [(PASSING, [1.0, 2.0]), (PASSING * 3, [1.0, 2.0, 4.0, 8.0])]
)
def test_passing_failures_are_repeated(
    pauses: list[float], errors: tuple[Exception, ...], expected: list[float]
) -> None:
    outcomes = failing(*errors)

    def action() -> str:
        if (error := next(outcomes)) is not None:
            raise error
        return "page"

    if len(errors) > len(expected):
        with pytest.raises(OperationTimedOut):
            cassandra_pages._repeated(action)
    else:
        assert cassandra_pages._repeated(action) == "page"
    assert pauses == expected


@pytest.mark.parametrize("error", FINAL)
def test_a_rejection_is_not_repeated(pauses: list[float], error: Exception) -> None:
    def action() -> None:
        raise error

    with pytest.raises(type(error)):
        cassandra_pages._repeated(action)
    assert pauses == []
