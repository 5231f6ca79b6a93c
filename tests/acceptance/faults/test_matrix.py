"""The matrix itself: how outcomes are counted, and that the page has what the tests state."""

from tests.acceptance.faults.matrix import PAGE, page, rows
from tests.acceptance.faults.situation import Outcome, outcome_of


def test_an_outcome_counts_by_event() -> None:
    outcome = outcome_of(["a", "b", "c", "c"], ["a", "a", "c", "c", "x"], recorded=["b"])

    assert outcome == Outcome(expected=3, delivered=2, lost=0, invented=1, repeated=1, recorded=1)


def test_events_neither_delivered_nor_recorded_are_lost() -> None:
    assert outcome_of(["a"], []).lost == 1


def test_each_situation_stands_once() -> None:
    names = [row.name for row, _ in rows()]

    assert len(names) == len(set(names))


def test_page_lists_the_situations_of_the_tests() -> None:
    assert PAGE.read_text() == page(), "make faults-page writes docs/evidence/faults.md anew"
