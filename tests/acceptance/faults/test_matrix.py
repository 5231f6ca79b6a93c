"""The matrix itself: how outcomes are counted, and that the page has what the tests measured."""

from tests.acceptance.faults.matrix import PAGE, page, proofs, rows
from tests.acceptance.faults.situation import Outcome, outcome_of


def test_an_outcome_counts_by_event() -> None:
    outcome = outcome_of(["a", "b", "c", "c"], ["a", "a", "c", "c", "x"], recorded=["b"])

    assert outcome == Outcome(expected=3, delivered=2, lost=0, invented=1, repeated=1, recorded=1)
    assert outcome_of(["a"], []).lost == 1


def test_each_row_of_the_page_has_one_test_and_each_test_its_row() -> None:
    stated = [cells[0] for cells in rows(PAGE.read_text())]
    proved = [name for name, _ in proofs()]

    assert sorted(stated) == sorted(proved)
    assert len(stated) == len(set(stated))


def test_the_page_has_the_figures_of_the_last_run() -> None:
    assert PAGE.read_text() == page(PAGE.read_text()), "make faults-page writes them anew"
