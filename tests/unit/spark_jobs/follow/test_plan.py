"""What is read for which commits."""

from spark_jobs.follow.plan import MAX_TOUCHED_ROWS, ReadPlan, plan_read
from spark_jobs.follow.position import Position
from spark_jobs.reconcile.store import Commit

BEFORE, AFTER = Position(4, 100), Position(7, 110)


def plan(*commits: Commit, has_due: bool = False) -> ReadPlan | None:
    return plan_read("t", BEFORE, AFTER, commits, has_due=has_due)


def test_a_first_fill_reads_everything_as_new() -> None:
    assert plan_read("t", None, AFTER, (), has_due=False) == ReadPlan("none", has_new=True)


def test_new_events_touch_their_keys() -> None:
    assert plan(Commit(5, "append", {"t": 3})) == ReadPlan("touched", has_new=True)


def test_due_values_touch_their_keys() -> None:
    assert plan(has_due=True) == ReadPlan("touched", has_new=False)


def test_nothing_changes_without_events_of_the_table() -> None:
    outside = (Commit(4, "append", {"t": 1}), Commit(8, "append", {"t": 1}))
    others = (Commit(5, "append", {"u": 1}), Commit(6, "compact"), Commit(7, "truncate", {"u": 1}))
    assert plan(*outside, *others) is None


def test_a_truncation_reads_everything() -> None:
    truncation = Commit(6, "truncate", {"t": 1})
    assert plan(truncation) == ReadPlan("all", has_new=False)
    assert plan(Commit(5, "append", {"t": 1}), truncation) == ReadPlan("all", has_new=True)


def test_many_new_events_read_everything() -> None:
    half = MAX_TOUCHED_ROWS // 2
    commits = [Commit(version, "append", {"t": half}) for version in (5, 6)]
    assert plan(*commits) == ReadPlan("touched", has_new=True)
    assert plan(*commits, Commit(7, "append", {"t": 1})) == ReadPlan("all", has_new=True)
