"""The finding of a check, with its remedy."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check. Warnings and faults have a remedy."""

    code: str
    """Stable name for scripts and alerts, such as `cdc_raw_directory_differs`."""
    level: Level
    subject: str
    """What was checked, such as `broker`."""
    message: str
    """The finding in a sentence, with place and value."""
    remedy: str
    """What to do, as a command if possible; empty for `ok`."""


def ok(subject: str, message: str, *, code: str = "") -> Finding:
    """A finding without a problem. The default code is the subject and `_ok`."""
    known = code or f"{subject.lower().replace(' ', '_').replace('.', '_')}_ok"
    return Finding(known, Level.OK, subject, message, "")


def warning(subject: str, message: str, remedy: str, *, code: str) -> Finding:
    return Finding(code, Level.WARNING, subject, message, remedy)


def fault(subject: str, message: str, remedy: str, *, code: str) -> Finding:
    return Finding(code, Level.FAULT, subject, message, remedy)


def listed(names: list[str]) -> str:
    """Names as a list: `a`, `a and b`, `a, b and c`."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def first_names(names: Sequence[str], most: int = 5) -> str:
    """The first few names, with `…` for the rest."""
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
