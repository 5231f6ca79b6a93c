"""The report of a comparison: values and lines. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from spark_jobs.compare.findings import (
    EXIT_CODES,
    DifferingRow,
    Verdict,
    joint_verdict,
    moment,
)
from spark_jobs.compare.row_difference import HARMLESS, Cause
from spark_jobs.compare.target_report import TARGET_HARMLESS, TARGET_MEANINGS, TargetReport

_ROWS_IN_MESSAGE = 10
_Cause = TypeVar("_Cause", bound=StrEnum)
MEANINGS: Mapping[Cause, str] = {
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
VERDICTS: Mapping[Verdict, str] = {
    "equal": "equal",
    "differs": "rows differ",
    "not_there_yet": "not complete up to the read",
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
    """The smallest watermark of the store."""
    causes: Mapping[Cause, int]
    """Rows by cause."""
    rows: Sequence[DifferingRow]
    """Some rows of each cause, the worst first."""
    target: TargetReport | None = None
    """The typed table against the store."""

    @property
    def verdict(self) -> Verdict:
        """The verdict of all parts."""
        parts = [self.live_verdict]
        if self.target is not None:
            parts.append(self.target.verdict)
        return joint_verdict(parts)

    @property
    def live_verdict(self) -> Verdict:
        """The verdict on the store, as a copy of the live table."""
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
            "read_from": moment(self.read_from_us),
            "read_to": moment(self.read_to_us),
            "store_version": self.store_version,
            "complete_until": optional_moment(self.complete_until_us),
            "causes": {str(cause): self.causes.get(cause, 0) for cause in Cause},
            "rows": [row.values() for row in self.rows],
            "target": None if self.target is None else self.target.values(),
        }

    def message(self) -> str:
        """The report as lines."""
        lines = [
            f"{self.table}: {VERDICTS[self.live_verdict]}",
            f"  {self.live_rows} live rows in {self.ranges} token ranges, "
            f"{self.differing_ranges} of them compared row by row",
        ]
        if self.live_verdict == "not_there_yet":
            lines.append(f"  {self._completeness()}")
        lines += _found(self.causes, MEANINGS, self.rows, HARMLESS)
        if (target := self.target) is not None:
            lines += [
                f"{target.table}: {VERDICTS[target.verdict]}",
                f"  {target.typed_rows} rows, compared with version {target.store_version} of the "
                "store",
                *_found(target.causes, TARGET_MEANINGS, target.rows, TARGET_HARMLESS),
            ]
        return "\n".join(lines)

    def _completeness(self) -> str:
        """Why the store is not known to be complete up to the reads."""
        if self.complete_until_us is None:
            return (
                "It is not known until when the store is complete. Run spark_jobs.watermarks with "
                "`store`, and set `watermarks` to its `state`; or set `complete.until`."
            )
        return (
            f"The store is complete until {moment(self.complete_until_us)}, the reads ended at "
            f"{moment(self.read_to_us)}."
        )


def optional_moment(ts_us: int | None) -> str | None:
    return None if ts_us is None else moment(ts_us)


def _found(
    causes: Mapping[_Cause, int],
    meanings: Mapping[_Cause, str],
    rows: Sequence[DifferingRow],
    harmless: Collection[StrEnum],
) -> list[str]:
    lines = [
        f"  {cause}: {causes[cause]} rows. {meaning}"
        for cause, meaning in meanings.items()
        if causes.get(cause)
    ]
    shown = [row for row in rows if row.cause not in harmless][:_ROWS_IN_MESSAGE]
    return lines + [f"  {row.cause}: {row.key}: {row.columns}" for row in shown]
