"""The report of a comparison: values, lines and a page. Pure."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from string import Template
from typing import Any, Literal

from spark_jobs.compare.row_difference import HARMLESS, Cause

Verdict = Literal["equal", "differs", "not_there_yet"]
EXIT_CODES: Mapping[Verdict, int] = {"equal": 0, "differs": 7, "not_there_yet": 8}
_ROWS_IN_MESSAGE = 10
_MEANINGS: Mapping[Cause, str] = {
    Cause.LOSS: "The store lacks a write that it should have, unless the write was never "
    "acknowledged.",
    Cause.LOST_DELETE: "The store has a value that Cassandra deleted.",
    Cause.DIFFERENT_VALUE: "Both have a value of the same write time, and the values differ.",
    Cause.TRUNCATE_SUSPECTED: "Only the store has these rows, and they are older than every value "
    "in Cassandra. Record the TRUNCATE with spark_jobs.reconcile.truncate.",
    Cause.NOT_READ: "The store has a newer value than Cassandra returned. Repair the table, or "
    "read at ALL.",
    Cause.NOT_THERE_YET: "The store is not complete up to the read. Run the command again later.",
    Cause.WRITTEN_AFTER: "The write is newer than the read.",
    Cause.EXPIRED: "The value expired before the read.",
}


@dataclass(frozen=True, slots=True)
class DifferingRow:
    cause: Cause
    key: str
    """A condition in CQL."""
    columns: str
    """Each column with its cause and both write times."""


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
    """The smallest watermark of the store."""
    causes: Mapping[Cause, int]
    """Rows by cause."""
    rows: Sequence[DifferingRow]
    """Some rows of each cause, the worst first."""

    @property
    def verdict(self) -> Verdict:
        found = {cause for cause, rows in self.causes.items() if rows} - HARMLESS
        if found - {Cause.NOT_THERE_YET}:
            return "differs"
        return "not_there_yet" if found else "equal"

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict]

    def values(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "table": self.table,
            "verdict": self.verdict,
            "consistency": self.consistency,
            "ranges": self.ranges,
            "differing_ranges": self.differing_ranges,
            "live_rows": self.live_rows,
            "read_from": _moment(self.read_from_us),
            "read_to": _moment(self.read_to_us),
            "store_version": self.store_version,
            "complete_until": _optional_moment(self.complete_until_us),
            "causes": {str(cause): self.causes.get(cause, 0) for cause in Cause},
            "rows": [
                {"cause": str(row.cause), "key": row.key, "columns": row.columns}
                for row in self.rows
            ],
        }

    def message(self) -> str:
        """The report as lines."""
        lines = [
            f"{self.table}: {_VERDICTS[self.verdict]}",
            f"  {self.live_rows} live rows in {self.ranges} token ranges, "
            f"{self.differing_ranges} of them compared row by row",
        ]
        for cause in Cause:
            if count := self.causes.get(cause, 0):
                lines.append(f"  {cause}: {count} rows. {_MEANINGS[cause]}")
        shown = [row for row in self.rows if row.cause not in HARMLESS][:_ROWS_IN_MESSAGE]
        lines += [f"  {row.cause}: {row.key}: {row.columns}" for row in shown]
        return "\n".join(lines)

    def page(self) -> str:
        """The report as a page that needs no other file."""
        facts = [
            ("Rows in Cassandra", str(self.live_rows)),
            ("Consistency level", self.consistency),
            ("Token ranges", str(self.ranges)),
            ("Compared row by row", str(self.differing_ranges)),
            ("Read from", _moment(self.read_from_us)),
            ("Read to", _moment(self.read_to_us)),
            ("Version of the store", str(self.store_version)),
            ("Store complete until", _optional_moment(self.complete_until_us) or "not known"),
        ]
        counts = [
            (str(cause), str(self.causes[cause]), _MEANINGS[cause])
            for cause in Cause
            if self.causes.get(cause)
        ]
        rows = [(str(row.cause), row.key, row.columns) for row in self.rows]
        return _PAGE.substitute(
            table=html.escape(self.table),
            verdict=html.escape(_VERDICTS[self.verdict]),
            kind=self.verdict,
            facts=_table(("", ""), facts),
            causes=_table(("Cause", "Rows", "Meaning"), counts),
            rows=_table(("Cause", "Row", "Columns, with write times in microseconds"), rows),
        )


_VERDICTS: Mapping[Verdict, str] = {
    "equal": "equal",
    "differs": "rows differ",
    "not_there_yet": "the store is not complete up to the read",
}
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
$facts
<h2>Causes</h2>
$causes
<h2>Rows</h2>
$rows
</body>
</html>
"""
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


def _moment(ts_us: int) -> str:
    return datetime.fromtimestamp(ts_us / 1_000_000, UTC).isoformat(timespec="milliseconds")


def _optional_moment(ts_us: int | None) -> str | None:
    return None if ts_us is None else _moment(ts_us)
