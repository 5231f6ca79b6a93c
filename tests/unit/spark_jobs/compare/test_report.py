"""The report of a comparison."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from justhtml import JustHTML

from spark_jobs.compare.report import (
    ComparisonReport,
    DifferingRow,
    Findings,
    TargetCause,
    TargetReport,
    Verdict,
    report_page,
)
from spark_jobs.compare.row_difference import Cause

REPOSITORY = Path(__file__).resolve().parents[4]
SCHEMA = REPOSITORY / "docs/reference/schemas/spark-compare.json"


def report(**causes: int) -> ComparisonReport:
    counts = {Cause.by_name()[name]: rows for name, rows in causes.items()}
    rows = [DifferingRow(cause, f"\"k\" = '<{cause}>'", "v: …") for cause in counts]
    found = Findings(counts, rows)
    return ComparisonReport("shop.t", "ALL", 4, 2, 9, 1_000_000, 2_000_000, 3, None, found)


CASES = [
    ({}, "equal", 0),
    ({"written_after": 1, "expired": 2}, "equal", 0),
    ({"not_there_yet": 1, "expired": 2}, "not_there_yet", 8),
    ({"not_there_yet": 1, "loss": 1}, "differs", 7),
    ({"truncate_suspected": 3}, "differs", 7),
    ({"loss": 0}, "equal", 0),
]


@pytest.mark.parametrize(("causes", "verdict", "exit_code"), CASES)
def test_verdict_follows_from_causes(causes: dict[str, int], verdict: str, exit_code: int) -> None:
    found = report(**causes)
    assert (found.verdict, found.exit_code) == (verdict, exit_code)
    assert found.values()["verdict"] == verdict
    for cause, rows in causes.items():
        assert found.values()["causes"][cause] == rows
        assert (f"  {cause}: {rows} rows" in found.message()) == bool(rows)


def test_report_explains_incomplete_store() -> None:
    early = report(not_there_yet=1)
    assert "The time up to which the store is complete is unknown. Run" in early.message()
    known = replace(early, complete_until_us=1_500_000)
    assert (
        "complete up to 1970-01-01T00:00:01.500+00:00; the reads ended at 1970-01-01T00:00:02"
        in known.message()
    )
    assert "complete until" not in report(loss=1).message()


def target(**causes: int) -> TargetReport:
    counts = {TargetCause.by_name()[name]: rows for name, rows in causes.items()}
    rows = [DifferingRow(cause, '{"k":"<1>"}', "v") for cause in counts]
    found = Findings(counts, rows)
    return TargetReport("lake.shop.t", 12, 9, 3, {"topic": {"0": 7}}, 4, found)


TARGET_CASES: list[tuple[dict[str, int], dict[str, int], Verdict]] = [
    ({}, {}, "equal"),
    ({"expired": 1}, {"written_after": 1, "expired": 2}, "equal"),
    ({}, {"not_there_yet": 1}, "not_there_yet"),
    ({"not_there_yet": 1}, {}, "not_there_yet"),
    ({"not_there_yet": 1}, {"missing_row": 1}, "differs"),
    ({"loss": 1}, {"not_there_yet": 1}, "differs"),
]


@pytest.mark.parametrize(("live", "typed", "verdict"), TARGET_CASES)
def test_verdict_includes_typed_table(
    live: dict[str, int], typed: dict[str, int], verdict: Verdict
) -> None:
    found = replace(report(**live), target=target(**typed))
    assert found.verdict == verdict
    values = found.values()["target"]
    assert {name: rows for name, rows in values["causes"].items() if rows} == typed
    for cause, rows in typed.items():
        assert f"  {cause}: {rows} rows" in found.message()


def test_json_report_follows_schema() -> None:
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )
    bare = report(loss=1)
    full = replace(bare, complete_until_us=5_000_000, target=target(extra_row=1))
    typed = schema["properties"]["target"]["anyOf"][0]
    for values in (bare.values(), full.values()):
        validator.validate(json.loads(json.dumps(values)))
        assert list(values) == list(schema["properties"]) == schema["required"]
    assert list(full.values()["target"]) == list(typed["properties"]) == typed["required"]
    for part, causes in ((schema, Cause), (typed, TargetCause)):
        names = [str(cause) for cause in causes]
        assert part["properties"]["causes"]["required"] == names
        assert part["properties"]["rows"]["items"]["properties"]["cause"]["enum"] == names


def test_report_page_is_valid_and_self_contained() -> None:
    page = report_page(replace(report(loss=1, expired=2), target=target(extra_row=1)))
    assert JustHTML(page, collect_errors=True).errors == []
    assert "&lt;loss&gt;" in page
    assert "<td>extra_row</td>" in page
    assert "<script" not in page
    assert "http" not in page
