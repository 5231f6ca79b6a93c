"""Positions of commits, including positions that maintenance repeats late."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

import pytest

from spark_jobs.tables.commit_position import CommitPosition, Part, progress
from spark_jobs.tables.format.typed_table import (
    Commit,
    TypedTable,
    newest_position,
    read_recent_commits,
    settled,
)

FIRST = CommitPosition("store", "table", 7, 1_700_000_000)
SECOND = replace(FIRST, second=FIRST.second + 60)
MERGED = SECOND.as_part(Part.MERGE)
RELABELLED = replace(SECOND, columns={"v": "1"})


def commits(*newest_first: CommitPosition | None) -> list[Commit]:
    count = len(newest_first)
    return [
        Commit(count - index, datetime.now(UTC), "WRITE", position)
        for index, position in enumerate(newest_first)
    ]


def positions(*newest_first: CommitPosition | None) -> list[CommitPosition | None]:
    return [commit.position for commit in settled(commits(*newest_first))]


def test_position_repeated_by_maintenance_yields_to_newer_batch() -> None:
    assert positions(FIRST, SECOND, FIRST) == [SECOND, SECOND, FIRST]
    assert positions(FIRST, MERGED, FIRST) == [MERGED, MERGED, FIRST]
    assert positions(MERGED, SECOND, MERGED, FIRST) == [SECOND, SECOND, MERGED, FIRST]
    assert newest_position(settled(commits(None, FIRST, SECOND))) == SECOND


def test_other_commit_positions_stay_unchanged() -> None:
    assert positions() == []
    assert positions(None, RELABELLED, SECOND, None) == [None, RELABELLED, SECOND, None]
    assert [commit.version for commit in settled(commits(SECOND, FIRST))] == [2, 1]


@pytest.mark.parametrize(
    ("newer", "limits"),
    [([], [16]), ([None] * 15, [16]), ([None] * 16, [16, None]), ([MERGED] * 16, [16, None])],
)
def test_newest_commits_are_read_first(
    newer: list[CommitPosition | None], limits: list[int | None]
) -> None:
    asked: list[int | None] = []

    class Table:
        """A table with a history."""

        def commits(self, limit: int | None) -> list[Commit]:
            asked.append(limit)
            return commits(*newer, SECOND, None, None)[:limit]

    found = read_recent_commits(cast(TypedTable, Table()))
    assert progress(commit.position for commit in found).complete == SECOND
    assert asked == limits
