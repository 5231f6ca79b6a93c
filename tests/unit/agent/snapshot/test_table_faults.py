"""When a refusal of the node is taken for its last word."""

from agent.snapshot.table_faults import RejectedStatements


def test_only_the_same_statement_for_some_seconds_is_rejected_for_good() -> None:
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
    # Tables are apart.
    assert not refusals.is_final("u", "SELECT b")
    refusals.clear("u")
    assert refusals.is_final("t", "SELECT b")
    refusals.clear("t")
    assert "t" not in refusals
    assert not refusals.is_final("t", "SELECT b")
