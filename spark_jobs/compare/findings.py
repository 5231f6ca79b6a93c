"""What a comparison can find: verdicts, and rows that differ. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Literal

Verdict = Literal["equal", "differs", "not_there_yet"]
EXIT_CODES: Mapping[Verdict, int] = {"equal": 0, "differs": 7, "not_there_yet": 8}


@dataclass(frozen=True, slots=True)
class DifferingRow:
    cause: StrEnum
    key: str
    columns: str
    """The columns that differ, and why."""

    def values(self) -> dict[str, str]:
        """The row as JSON."""
        return {"cause": str(self.cause), "key": self.key, "columns": self.columns}


def joint_verdict(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of all parts of a comparison."""
    found = set(verdicts)
    order: tuple[Verdict, ...] = ("differs", "not_there_yet")
    return next((each for each in order if each in found), "equal")


def moment(ts_us: int) -> str:
    """A time in microseconds as ISO-8601."""
    return datetime.fromtimestamp(ts_us / 1_000_000, UTC).isoformat(timespec="milliseconds")
