"""The report of a comparison."""

import pytest
from justhtml import JustHTML

from spark_jobs.compare.report import ComparisonReport, DifferingRow
from spark_jobs.compare.row_difference import Cause


def report(**causes: int) -> ComparisonReport:
    counts = {Cause(name): rows for name, rows in causes.items()}
    rows = [DifferingRow(cause, f"\"k\" = '<{cause}>'", "v: …") for cause in counts]
    return ComparisonReport("shop.t", "ALL", 4, 2, 9, 1_000_000, 2_000_000, 3, None, counts, rows)


CASES = [
    ({}, "equal", 0),
    ({"written_after": 1, "expired": 2}, "equal", 0),
    ({"not_there_yet": 1, "expired": 2}, "not_there_yet", 8),
    ({"not_there_yet": 1, "loss": 1}, "differs", 7),
    ({"truncate_suspected": 3}, "differs", 7),
    ({"loss": 0}, "equal", 0),
]


@pytest.mark.parametrize(("causes", "verdict", "exit_code"), CASES)
def test_verdict(causes: dict[str, int], verdict: str, exit_code: int) -> None:
    found = report(**causes)
    assert (found.verdict, found.exit_code) == (verdict, exit_code)
    assert found.values()["verdict"] == verdict
    for cause, rows in causes.items():
        assert found.values()["causes"][cause] == rows
        assert (f"  {cause}: {rows} rows" in found.message()) == bool(rows)


def test_the_page_is_valid_and_alone() -> None:
    page = report(loss=1, expired=2).page()
    assert JustHTML(page, collect_errors=True).errors == []
    assert "&lt;loss&gt;" in page
    assert "<script" not in page
    assert "http" not in page
