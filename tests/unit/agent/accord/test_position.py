"""Stored journal positions and the gaps that they reveal."""

from dataclasses import replace

import pytest

from agent.accord.position import (
    JournalPosition,
    gap_at_start,
    gap_while_running,
    position_from_entries,
)
from agent.accord.segments import JournalFiles, JournalSegment
from sidecar.errors import OffsetStoreError


def segment(timestamp: int) -> JournalSegment:
    return JournalSegment(timestamp, 1, 1, 1)


POSITION = JournalPosition(segment(100), 4096, 7, b"\x01\x00")


def test_position_survives_round_trip() -> None:
    assert position_from_entries(POSITION.to_entries("n"), "n") == POSITION
    assert position_from_entries({}, "n") == JournalPosition()
    first = JournalPosition()
    assert position_from_entries(first.to_entries("n"), "n") == first


def test_position_of_another_node_restores_only_next_id() -> None:
    assert position_from_entries(POSITION.to_entries("former"), "n") == JournalPosition(next_id=7)


@pytest.mark.parametrize(
    ("name", "value"), [("offset", "x"), ("transactions", "?"), ("next.id", "")]
)
def test_invalid_journal_position_is_rejected(name: str, value: str) -> None:
    with pytest.raises(OffsetStoreError, match=r"accord_offset\.properties"):
        position_from_entries({**POSITION.to_entries("n"), name: value}, "n")


def test_deleted_journal_segment_is_a_gap() -> None:
    present = JournalFiles((segment(100), segment(101)))
    assert gap_at_start(POSITION, present) == gap_at_start(JournalPosition(), present) == ""
    gap = gap_at_start(POSITION, JournalFiles((segment(103),)))
    assert "deleted log-100-1-1-1.data" in gap
    assert "after offset 4096 and before log-103-1-1-1.data" in gap
    assert "may be missing" in gap_at_start(POSITION, JournalFiles())


def test_skipped_segments_are_gap_unless_node_restarted() -> None:
    following = JournalFiles((segment(101),), started=50)
    assert gap_while_running(segment(100), segment(101), following) == ""
    running = JournalFiles((segment(103),), started=50)
    assert "between log-100" in gap_while_running(segment(100), segment(103), running)
    # The node has already recorded its new start, or still has its last segments.
    restarted = JournalFiles((segment(9000),), started=9002)
    assert gap_while_running(segment(100), segment(9000), restarted) == ""
    with_last = JournalFiles((segment(99), segment(9000)), started=50)
    assert gap_while_running(segment(100), segment(9000), with_last) == ""
    late = replace(restarted, segments=(segment(9003),))
    assert "between log-100" in gap_while_running(segment(100), segment(9003), late)
