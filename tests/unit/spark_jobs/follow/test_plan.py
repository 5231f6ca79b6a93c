"""The rows that a follower reads for given commits."""

from collections.abc import Sequence

import pytest

from spark_jobs.follow.plan import MAX_TOUCHED_ROWS, Position, ReadPlan, plan_read
from spark_jobs.reconcile.store import Commit

BEFORE, AFTER = Position(4, 100), Position(7, 110)
TRUNCATION = Commit(6, "truncate", {"t": 1})
OUTSIDE = [Commit(4, "append", {"t": 1}), Commit(8, "append", {"t": 1})]
OTHERS = [Commit(5, "append", {"u": 1}), Commit(6, "compact"), Commit(7, "truncate", {"u": 1})]
MANY = [Commit(version, "append", {"t": MAX_TOUCHED_ROWS // 2}) for version in (5, 6)]
CASES: dict[str, tuple[Sequence[Commit], bool, ReadPlan | None]] = {
    "new events": ([Commit(5, "append", {"t": 3})], False, ReadPlan("touched", True, 3)),
    "due values": ([], True, ReadPlan("touched", has_new=False)),
    "both": ([Commit(5, "append", {"t": 3})], True, ReadPlan("touched", has_new=True)),
    "no events of the table": ([*OUTSIDE, *OTHERS], False, None),
    "a truncation": ([TRUNCATION], False, ReadPlan("all", has_new=False)),
    "events and a truncation": (
        [Commit(5, "append", {"t": 1}), TRUNCATION],
        False,
        ReadPlan("all", has_new=True),
    ),
    "many events": (MANY, False, ReadPlan("touched", True, MAX_TOUCHED_ROWS)),
    "too many events": (
        [*MANY, Commit(7, "append", {"t": 1})],
        False,
        ReadPlan("all", has_new=True),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_plan_reads_rows_by_commits(case: str) -> None:
    commits, has_due, expected = CASES[case]
    assert plan_read("t", BEFORE, AFTER, commits, has_due=has_due) == expected


def test_first_fill_plan_reads_everything_as_new() -> None:
    assert plan_read("t", None, AFTER, (), has_due=False) == ReadPlan("none", has_new=True)
