"""Positions of commits, among them positions that maintenance repeats late."""

from dataclasses import replace
from datetime import UTC, datetime

from spark_jobs.tables.commit_position import CommitPosition, Part
from spark_jobs.tables.format.protocol import Commit, newest_position, settled

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


def test_a_late_repetition_shows_the_newer_batch() -> None:
    assert positions(FIRST, SECOND, FIRST) == [SECOND, SECOND, FIRST]
    assert positions(FIRST, MERGED, FIRST) == [MERGED, MERGED, FIRST]
    assert positions(MERGED, SECOND, MERGED, FIRST) == [SECOND, SECOND, MERGED, FIRST]
    assert newest_position(settled(commits(None, FIRST, SECOND))) == SECOND


def test_other_commits_stay() -> None:
    assert positions() == []
    assert positions(None, RELABELLED, SECOND, None) == [None, RELABELLED, SECOND, None]
    assert [commit.version for commit in settled(commits(SECOND, FIRST))] == [2, 1]
