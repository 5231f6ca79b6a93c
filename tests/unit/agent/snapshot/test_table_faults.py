"""When a rejection by the node counts as final."""

from agent.snapshot.table_faults import RejectedStatements


def test_statement_rejected_for_five_seconds_is_final() -> None:
    now_s = 0.0
    refusals = RejectedStatements(clock=lambda: now_s)
    assert not refusals.is_final("t", "SELECT a")
    assert not refusals.is_final("t", "SELECT a")
    now_s = 4.0
    assert not refusals.is_final("t", "SELECT a")
    assert not refusals.is_final("t", "SELECT b")
    now_s = 8.0
    assert not refusals.is_final("t", "SELECT b")
    now_s = 9.0
    assert refusals.is_final("t", "SELECT b")
    assert "t" in refusals
    # Tables are independent.
    assert not refusals.is_final("u", "SELECT b")
    refusals.clear("u")
    assert refusals.is_final("t", "SELECT b")
    refusals.clear("t")
    assert "t" not in refusals
    assert not refusals.is_final("t", "SELECT b")
