"""What a check has found, and what is to be done about it."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence about one subject; `remedy` says what to do, if anything is to be done."""

    level: Level
    subject: str
    sentence: str
    remedy: str = ""
    code: str = ""
    """Stable name in snake case, such as `cdc_raw_directory_differs`."""


def ok(subject: str, sentence: str) -> Finding:
    return Finding(Level.OK, subject, sentence)


def warning(subject: str, sentence: str, remedy: str) -> Finding:
    return Finding(Level.WARNING, subject, sentence, remedy)


def fault(subject: str, sentence: str, remedy: str, *, code: str = "") -> Finding:
    return Finding(Level.FAULT, subject, sentence, remedy, code)


def size_text(size_bytes: int) -> str:
    """`1536` as `1.5 KiB`."""
    size = float(size_bytes)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
