"""The report of a comparison as a page that needs no other file. Pure."""

import html
from collections.abc import Sequence
from string import Template

from spark_jobs.compare.report import (
    VERDICTS,
    Causes,
    ComparisonReport,
    DifferingRow,
    TargetReport,
    found_causes,
    moment,
    optional_moment,
)

_PAGE = Template(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>$table: $verdict</title>
<style>
body { font-family: system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; width: 100%; }
th, td { border-bottom: 1px solid #ccc; padding: 0.3rem 0.6rem; text-align: left; }
td { overflow-wrap: anywhere; vertical-align: top; }
.equal { color: #17602a; } .differs { color: #a1161a; } .not_there_yet { color: #7a5200; }
</style>
</head>
<body>
<h1>$table</h1>
<p class="$kind"><strong>$verdict</strong></p>
<h2>Version store</h2>
$facts
$found
$target
</body>
</html>
"""
)


def report_page(report: ComparisonReport) -> str:
    """The page."""
    facts = [
        ("Rows in Cassandra", str(report.live_rows)),
        ("Consistency level", report.consistency),
        ("Token ranges", str(report.ranges)),
        ("Compared row by row", str(report.differing_ranges)),
        ("Read from", moment(report.read_from_us)),
        ("Read to", moment(report.read_to_us)),
        ("Version of the store", str(report.store_version)),
        ("Store complete until", optional_moment(report.complete_until_us) or "not known"),
    ]
    return _PAGE.substitute(
        table=html.escape(report.table),
        verdict=html.escape(VERDICTS[report.verdict]),
        kind=report.verdict,
        facts=_table(("", ""), facts),
        found=_found(report.causes, report.rows, "Columns, with write times in microseconds"),
        target="" if report.target is None else _target(report.target),
    )


def _target(report: TargetReport) -> str:
    facts = [
        ("Table", report.table),
        ("Verdict", VERDICTS[report.verdict]),
        ("Rows", str(report.typed_rows)),
        ("Version of the table", str(report.version)),
        ("Version of the store", str(report.store_version)),
        ("Evaluated at", moment(report.second * 1_000_000)),
    ]
    found = _found(report.causes, report.rows, "Columns")
    return f"<h2>Typed table</h2>\n{_table(('', ''), facts)}\n{found}"


def _found(causes: Causes, rows: Sequence[DifferingRow], columns: str) -> str:
    counts = [(str(cause), str(count), cause.meaning) for cause, count in found_causes(causes)]
    shown = [(str(row.cause), row.key, row.columns) for row in rows]
    return (
        f"<h3>Causes</h3>\n{_table(('Cause', 'Rows', 'Meaning'), counts)}\n"
        f"<h3>Rows</h3>\n{_table(('Cause', 'Row', columns), shown)}"
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "<p>None</p>"
    head = ""
    if any(heads):
        cells = "".join(f'<th scope="col">{html.escape(each)}</th>' for each in heads)
        head = f"<thead><tr>{cells}</tr></thead>"
    body = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(each)}</td>" for each in row) + "</tr>" for row in rows
    )
    return f"<table>{head}<tbody>\n{body}\n</tbody></table>"
