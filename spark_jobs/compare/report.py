"""The report of a comparison as JSON, text and HTML. Pure."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from string import Template
from typing import Any, Literal

from spark_jobs.compare.row_difference import Cause, CauseOfDifference

Verdict = Literal["equal", "differs", "not_there_yet"]
EXIT_CODES: Mapping[Verdict, int] = {"equal": 0, "differs": 7, "not_there_yet": 8}
VERDICTS: Mapping[Verdict, str] = {
    "equal": "equal",
    "differs": "rows differ",
    "not_there_yet": "not complete up to the read",
}
_HARMLESS = ("written_after", "expired")
"""Causes in both comparisons that do not indicate a problem."""
_ROWS_IN_MESSAGE = 10
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


class TargetCause(CauseOfDifference):
    """Why the version store and the typed table differ."""

    MISSING_ROW = "missing_row", "Only the store, at the typed table's position, has the row."
    EXTRA_ROW = "extra_row", "Only the typed table has the row, not the store at its position."
    REPEATED_ROW = "repeated_row", "The typed table contains the row more than once."
    OTHER_VALUE = (
        "other_value",
        "The typed table and the store at its position have different values.",
    )
    NOT_THERE_YET = (
        "not_there_yet",
        "The store changed the row after the typed table's position. Run the command again later.",
    )
    WRITTEN_AFTER = (
        "written_after",
        "Like not_there_yet, but by a write after the start of the reads.",
    )
    EXPIRED = "expired", "Like not_there_yet, but because a value expired."


@dataclass(frozen=True, slots=True)
class DifferingRow:
    cause: CauseOfDifference
    key: str
    columns: str
    """The columns that differ, and why."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The rows that differ between two tables."""

    causes: Mapping[CauseOfDifference, int] = field(default_factory=dict)
    """Number of rows by cause."""
    rows: Sequence[DifferingRow] = ()
    """Some rows of each cause, worst cause first."""

    @property
    def verdict(self) -> Verdict:
        found = {str(cause) for cause, _ in self.counts()}.difference(_HARMLESS)
        if found - {"not_there_yet"}:
            return "differs"
        return "not_there_yet" if found else "equal"

    def counts(self) -> list[tuple[CauseOfDifference, int]]:
        """The causes that have rows, with the number of rows, worst first."""
        found = [(cause, rows) for cause, rows in self.causes.items() if rows]
        return sorted(found, key=lambda each: each[0].severity)

    def values(self, kind: type[CauseOfDifference]) -> dict[str, Any]:
        return {
            "causes": {str(cause): self.causes.get(cause, 0) for cause in kind},
            "rows": [asdict(row) for row in self.rows],
        }

    def lines(self) -> list[str]:
        shown = [row for row in self.rows if row.cause not in _HARMLESS][:_ROWS_IN_MESSAGE]
        return [
            *(f"  {cause}: {rows} rows. {cause.meaning}" for cause, rows in self.counts()),
            *(f"  {row.cause}: {row.key}: {row.columns}" for row in shown),
        ]

    def tables(self, columns: str) -> str:
        """The findings as HTML. `columns` is the head of the columns that differ."""
        causes = [(str(cause), str(rows), cause.meaning) for cause, rows in self.counts()]
        rows = [(str(row.cause), row.key, row.columns) for row in self.rows]
        return (
            f"<h3>Causes</h3>\n{_table(('Cause', 'Rows', 'Meaning'), causes)}\n"
            f"<h3>Rows</h3>\n{_table(('Cause', 'Row', columns), rows)}"
        )


def moment(ts_us: int) -> str:
    """Format a time in microseconds as ISO-8601."""
    return datetime.fromtimestamp(ts_us / 1_000_000, UTC).isoformat(timespec="milliseconds")


def optional_moment(ts_us: int | None) -> str | None:
    return None if ts_us is None else moment(ts_us)


@dataclass(frozen=True, slots=True)
class TargetReport:
    """The comparison of a typed table with the store at the table's position."""

    table: str
    """The table's SQL name."""
    version: int
    """The Delta version or the Iceberg snapshot."""
    store_version: int
    second: int
    offsets: Mapping[str, Mapping[str, int]]
    """Kafka end offsets in the commit of the typed table's position."""
    typed_rows: int
    found: Findings = field(default_factory=Findings)

    def values(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "verdict": self.found.verdict,
            "version": self.version,
            "store_version": self.store_version,
            "evaluated_at": moment(self.second * 1_000_000),
            "offsets": {topic: dict(ends) for topic, ends in self.offsets.items()},
            "typed_rows": self.typed_rows,
            **self.found.values(TargetCause),
        }


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    table: str
    consistency: str
    ranges: int
    differing_ranges: int
    live_rows: int
    read_from_us: int
    read_to_us: int
    store_version: int
    complete_until_us: int | None
    """The store's smallest watermark; None if no watermark is known."""
    found: Findings = field(default_factory=Findings)
    """The differences between the live table and the store."""
    target: TargetReport | None = None
    """The comparison of the typed table with the store."""

    @property
    def verdict(self) -> Verdict:
        target = Findings() if self.target is None else self.target.found
        found = {self.found.verdict, target.verdict}
        order: tuple[Verdict, ...] = ("differs", "not_there_yet")
        return next((each for each in order if each in found), "equal")

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict]

    def values(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "verdict": self.verdict,
            "consistency": self.consistency,
            "ranges": self.ranges,
            "differing_ranges": self.differing_ranges,
            "live_rows": self.live_rows,
            "read_from": moment(self.read_from_us),
            "read_to": moment(self.read_to_us),
            "store_version": self.store_version,
            "complete_until": optional_moment(self.complete_until_us),
            **self.found.values(Cause),
            "target": None if self.target is None else self.target.values(),
        }

    def message(self) -> str:
        lines = [
            f"{self.table}: {VERDICTS[self.found.verdict]}",
            f"  {self.live_rows} live rows in {self.ranges} token ranges, "
            f"{self.differing_ranges} of them compared row by row",
        ]
        if self.found.verdict == "not_there_yet":
            lines.append(f"  {self._completeness()}")
        lines += self.found.lines()
        if (target := self.target) is not None:
            lines += [
                f"{target.table}: {VERDICTS[target.found.verdict]}",
                f"  {target.typed_rows} rows, compared with version {target.store_version} of the "
                "store",
                *target.found.lines(),
            ]
        return "\n".join(lines)

    def _completeness(self) -> str:
        """Why the store is not known to be complete up to the reads."""
        if self.complete_until_us is None:
            return (
                "The time up to which the store is complete is unknown. Run spark_jobs.watermarks "
                "with `store`, and set `watermarks` to its `state`; or set `complete.until`."
            )
        return (
            f"The store is complete up to {moment(self.complete_until_us)}; the reads ended at "
            f"{moment(self.read_to_us)}."
        )


def report_page(report: ComparisonReport) -> str:
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
        found=report.found.tables("Columns, with write times in microseconds"),
        target="" if report.target is None else _target(report.target),
    )


def _target(report: TargetReport) -> str:
    facts = [
        ("Table", report.table),
        ("Verdict", VERDICTS[report.found.verdict]),
        ("Rows", str(report.typed_rows)),
        ("Version of the table", str(report.version)),
        ("Version of the store", str(report.store_version)),
        ("Evaluated at", moment(report.second * 1_000_000)),
    ]
    found = report.found.tables("Columns")
    return f"<h2>Typed table</h2>\n{_table(('', ''), facts)}\n{found}"


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
