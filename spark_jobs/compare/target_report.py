"""What the comparison of a typed table with the version store found. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from spark_jobs.compare.findings import DifferingRow, Verdict, moment


class TargetCause(StrEnum):
    """From the worst to the harmless."""

    MISSING_ROW = "missing_row"
    """The store shows the row at the position of the typed table."""
    EXTRA_ROW = "extra_row"
    """The store does not show the row at the position of the typed table."""
    REPEATED_ROW = "repeated_row"
    """The typed table has the row more than once."""
    OTHER_VALUE = "other_value"
    NOT_THERE_YET = "not_there_yet"
    """The store changed the row after the position of the typed table."""
    WRITTEN_AFTER = "written_after"
    """As `NOT_THERE_YET`, by a write from after the start of the reads."""
    EXPIRED = "expired"
    """As `NOT_THERE_YET`, because a value expired."""


TARGET_HARMLESS = frozenset((TargetCause.WRITTEN_AFTER, TargetCause.EXPIRED))
TARGET_MEANINGS: Mapping[TargetCause, str] = {
    TargetCause.MISSING_ROW: "The store shows the row at the position of the typed table.",
    TargetCause.EXTRA_ROW: "The store does not show the row at that position.",
    TargetCause.REPEATED_ROW: "The typed table has the row more than once.",
    TargetCause.OTHER_VALUE: "The typed table has other values than the store at its position.",
    TargetCause.NOT_THERE_YET: "The store changed the row after the position of the typed table. "
    "Run the command again later.",
    TargetCause.WRITTEN_AFTER: "As not_there_yet, by a write from after the start of the reads.",
    TargetCause.EXPIRED: "As not_there_yet, because a value expired.",
}


@dataclass(frozen=True, slots=True)
class TargetReport:
    """A typed table at its position in the store."""

    table: str
    """Its name in SQL."""
    version: int
    """The version of Delta, or the snapshot of Iceberg."""
    store_version: int
    second: int
    offsets: Mapping[str, Mapping[str, int]]
    """End offsets of Kafka that the last commit names."""
    typed_rows: int
    causes: Mapping[TargetCause, int]
    """Rows by cause."""
    rows: Sequence[DifferingRow]
    """Some rows of each cause, the worst first."""

    @property
    def verdict(self) -> Verdict:
        found = {cause for cause, rows in self.causes.items() if rows} - TARGET_HARMLESS
        if found - {TargetCause.NOT_THERE_YET}:
            return "differs"
        return "not_there_yet" if found else "equal"

    def values(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "table": self.table,
            "verdict": self.verdict,
            "version": self.version,
            "store_version": self.store_version,
            "evaluated_at": moment(self.second * 1_000_000),
            "offsets": {topic: dict(ends) for topic, ends in self.offsets.items()},
            "typed_rows": self.typed_rows,
            "causes": {str(cause): self.causes.get(cause, 0) for cause in TargetCause},
            "rows": [row.values() for row in self.rows],
        }
