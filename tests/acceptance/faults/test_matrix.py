"""The fault matrix: outcomes and growth are computed correctly, and the page contains the measured
results."""

from dataclasses import replace

import pytest

from tests.acceptance.faults.matrix import PAGE, page, proofs, rows
from tests.acceptance.faults.situation import Growth, Outcome, Sampling, Use, outcome_of


def test_outcome_counts_events_by_id() -> None:
    outcome = outcome_of(["a", "b", "c", "c"], ["a", "a", "c", "c", "x"], recorded=["b"])

    assert outcome == Outcome(expected=3, delivered=2, lost=0, invented=1, repeated=1, recorded=1)
    assert outcome_of(["a"], []).lost == 1


def test_fault_page_rows_match_the_tests() -> None:
    stated = [cells[0] for cells in rows(PAGE.read_text())]
    proved = [name for name, _ in proofs()]

    assert sorted(stated) == sorted(proved)
    assert len(stated) == len(set(stated))


def test_fault_page_contains_the_last_results() -> None:
    assert PAGE.read_text() == page(PAGE.read_text()), "make faults-page writes them anew"


_USE = Use(resident_bytes=100, descriptors=10, threads=5, quarantined_files=1)


def require(**last: int) -> None:
    Growth(_USE, replace(_USE, **last)).require_flat(resident_bytes=10, descriptors=2, threads=1)


def test_resource_growth_beyond_bounds_is_rejected() -> None:
    require(resident_bytes=110, descriptors=12, threads=6)
    beyond = {"resident_bytes": 111, "descriptors": 13, "threads": 7, "quarantined_files": 2}
    for name, value in beyond.items():
        with pytest.raises(AssertionError, match="Growth"):
            require(**{name: value})


def test_growth_compares_first_and_last_third() -> None:
    samples = Sampling(pid=1)
    samples.samples = [replace(_USE, resident_bytes=number) for number in range(90)]
    growth = samples.growth
    assert (growth.first.resident_bytes, growth.last.resident_bytes) == (29, 89)
    del samples.samples[50:]
    with pytest.raises(AssertionError, match="50 samples are too few"):
        _ = samples.growth
