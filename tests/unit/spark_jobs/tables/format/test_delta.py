"""The history of a Delta table is read only as far as it is needed."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from spark_jobs.tables.apply_batch import progress_of
from spark_jobs.tables.commit_position import CommitPosition, Part
from spark_jobs.tables.format.delta import DeltaTypedTable

POSITION = CommitPosition("store-1", "table-1", 1, 1_700_000_000)
_STATEMENT = "DESCRIBE HISTORY delta.`t`"


class History:
    """A session that knows only the history of a table."""

    def __init__(self, positions: list[CommitPosition | None]) -> None:
        """`positions` are those of the versions, oldest first."""
        self._rows: list[dict[str, Any]] = [
            {
                "version": version,
                "timestamp": datetime(2026, 1, 1, tzinfo=UTC),
                "operation": "WRITE",
                "userMetadata": None if position is None else position.to_json(),
            }
            for version, position in enumerate(positions)
        ]
        self.limits: list[str] = []

    def sql(self, statement: str) -> "History":
        self.limits.append(statement.removeprefix(_STATEMENT))
        return self

    def select(self, *_: str) -> "History":
        return self

    def collect(self) -> list[dict[str, Any]]:
        limit = self.limits[-1].removeprefix(" LIMIT ")
        return self._rows[::-1][: int(limit or len(self._rows))]


@pytest.mark.parametrize(
    ("newer", "limits"),
    [
        ([], [" LIMIT 16"]),
        ([None] * 15, [" LIMIT 16"]),
        ([None] * 16, [" LIMIT 16", ""]),
        ([POSITION.as_part(Part.MERGE)] * 16, [" LIMIT 16", ""]),
    ],
)
def test_the_newest_commits_are_read_first(
    newer: list[CommitPosition | None], limits: list[str]
) -> None:
    history = History([None, None, POSITION, *newer])
    table = DeltaTypedTable(cast(SparkSession, history), "t")
    assert progress_of(table).complete == POSITION
    assert history.limits == limits
