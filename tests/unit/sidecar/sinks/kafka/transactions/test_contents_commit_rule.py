"""When a transaction is committed."""

import math

from sidecar.sinks.kafka.transactions.contents import CommitRule

RULE = CommitRule(interval_s=0.25, position_interval_s=1.0, max_events=100, max_bytes=1000)


def test_events_are_committed_after_the_interval() -> None:
    assert RULE.due_in_s(1, 10, open_for_s=0.05, stored_for_s=9, has_moved=True) == 0.2
    assert RULE.due_in_s(1, 10, open_for_s=3, stored_for_s=9, has_moved=True) == 0


def test_full_transaction_is_committed_immediately() -> None:
    assert RULE.due_in_s(100, 10, open_for_s=0, stored_for_s=0, has_moved=True) == 0
    assert RULE.due_in_s(1, 1000, open_for_s=0, stored_for_s=0, has_moved=True) == 0


def test_position_without_events_waits_for_position_interval() -> None:
    assert RULE.due_in_s(0, 0, open_for_s=0, stored_for_s=0.75, has_moved=True) == 0.25
    assert RULE.due_in_s(0, 0, open_for_s=0, stored_for_s=60, has_moved=True) == 0


def test_unchanged_transaction_is_never_due() -> None:
    assert RULE.due_in_s(0, 0, open_for_s=0, stored_for_s=60, has_moved=False) == math.inf
