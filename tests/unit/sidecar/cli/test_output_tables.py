"""Rows and findings: a table on a terminal, lines in a pipe."""

import sys

import pytest

from sidecar.check.check import Finding, fault, ok, warning
from sidecar.cli.findings import show_findings
from sidecar.cli.output import print_rows

PATTERN = "collection.include.list: shop[.].*"
FOUND = [
    ok("MongoDB", "Well."),
    warning("oplog", "Short.", f"See {PATTERN}.", code="oplog_window_short"),
]


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)


def test_rows_are_lines_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(("name", "why"), [("a", PATTERN)], lambda *cells: "\t".join(cells))
    assert capsys.readouterr().out == f"a\t{PATTERN}\n"


def test_rows_are_a_table_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch)
    print_rows(("name", "why"), [("a", PATTERN)], lambda *cells: "\t".join(cells))
    shown = capsys.readouterr().out
    assert "name" in shown
    # Brackets are text, not a style.
    assert PATTERN in shown


@pytest.mark.parametrize(
    ("more", "code"),
    [([], 0), ([fault("broker", "Away.", "Start it.", code="broker_unavailable")], 1)],
)
def test_only_faults_change_the_exit_code(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    more: list[Finding],
    code: int,
) -> None:
    assert show_findings([*FOUND, *more]) == code
    assert capsys.readouterr().out.startswith("ok       MongoDB: Well.\nwarning  oplog: Short. See")
    on_a_terminal(monkeypatch)
    assert show_findings([*FOUND, *more]) == code
    shown = capsys.readouterr().out
    assert "shop[.].*" in shown
    assert shown.splitlines()[-1].endswith("1 fault" if code else "0 faults")
