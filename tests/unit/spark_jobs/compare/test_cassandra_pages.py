"""Failures of Cassandra that end a read, and transient failures."""

import time
from collections.abc import Iterator
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from cassandra import AuthenticationFailed, OperationTimedOut, Unauthorized
from cassandra.cluster import NoHostAvailable
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.compare.cassandra_pages import CassandraPages, retry

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
def test_transient_failures_are_retried(
    pauses: list[float], errors: tuple[Exception, ...], expected: list[float]
) -> None:
    outcomes = failing(*errors)

    def action() -> str:
        if (error := next(outcomes)) is not None:
            raise error
        return "page"

    if len(errors) > len(expected):
        with pytest.raises(OperationTimedOut):
            retry(action)
    else:
        assert retry(action) == "page"
    assert pauses == expected


@pytest.mark.parametrize("error", FINAL)
def test_rejection_is_not_retried(pauses: list[float], error: Exception) -> None:
    def action() -> None:
        raise error

    with pytest.raises(type(error)):
        retry(action)
    assert pauses == []


class Session:
    """Rows of any size; a page of more than `bound` bytes and one row times out."""

    def __init__(self, sizes: list[int], bound: int) -> None:
        self.sizes = sizes
        self.bound = bound
        self.failures = 0

    def execute(self, statement: Any, paging_state: bytes | None) -> Any:
        start = int(paging_state or b"0")
        stop = start + statement.fetch_size
        page = self.sizes[start:stop]
        if sum(page) > self.bound and len(page) > 1:
            self.failures += 1
            raise OperationTimedOut("late")
        body = len(page).to_bytes(4) + bytes(sum(page))
        following = str(stop).encode() if stop < len(self.sizes) else None
        return SimpleNamespace(current_rows=[body], paging_state=following)


@given(st.integers(0), st.integers(5_000_000, 64 << 20))
def test_page_size_adapts_to_row_size(seed: int, bound: int) -> None:
    random = Random(seed)
    largest = [random.choice([10, 10_000, 5_000_000]) for _ in range(10)]
    # This number of large rows still fills several pages.
    counts = [random.choice([1, 30 if each < 1_000_000 else 6]) for each in largest]
    sizes = [
        random.randint(1, each)
        for each, count in zip(largest, counts, strict=True)
        for _ in range(count)
    ]
    masks: Any = SimpleNamespace(before=lambda _: "", after=lambda _: "")
    session = Session(sizes, bound)
    pages = CassandraPages(session, masks)
    with patch.object(time, "sleep"):
        found = list(pages.read("ks.t", "SELECT", "ONE", 1000))
    assert sum(page.rows for page in found) == len(sizes)
    assert [page.is_last for page in found] == [*([False] * (len(found) - 1)), True]
    assert all(page.rows == 1 or len(page.body) <= 9 << 20 for page in found)
    assert session.failures <= 10
