"""Defines a check and its findings.

The command `check` runs an agent's whole list of checks. `run` runs the list at startup, and
repeats the checks whose result can change. Checks read a *probe*: a frozen value with facts that
several checks need, such as the identity of the node. The command fetches these facts from
servers; a running agent takes them from its own components where possible."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Generic, TypeVar

from sidecar.errors import SidecarError
from sidecar.files.access import remedy_of


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
    """Create a finding of level `ok`. The default code is the subject followed by `_ok`."""
    known = code or f"{subject.lower().replace(' ', '_').replace('.', '_')}_ok"
    return Finding(known, Level.OK, subject, message, "")


def warning(subject: str, message: str, remedy: str, *, code: str) -> Finding:
    return Finding(code, Level.WARNING, subject, message, remedy)


def fault(subject: str, message: str, remedy: str, *, code: str) -> Finding:
    return Finding(code, Level.FAULT, subject, message, remedy)


def listed(names: list[str]) -> str:
    """Join names: `a`, `a and b`, `a, b and c`."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def first_names(names: Sequence[str], most: int = 5) -> str:
    """Join the first names, with `…` for the rest."""
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


ProbeT = TypeVar("ProbeT")
ProbeT_contra = TypeVar("ProbeT_contra", contravariant=True)

INTERVAL_S = 60.0
RETRY_S = 5.0


@dataclass(frozen=True, slots=True)
class Check(Generic[ProbeT_contra]):
    """A named function from a probe to findings."""

    name: str
    """The checked subject in a word or two; also the subject of the finding if the check fails."""
    find: Callable[[ProbeT_contra], Iterable[Finding]]
    """Runs the check. May wait for the server that `server` returns; changes nothing."""
    server: Callable[[ProbeT_contra], str] | None = None
    """Describes the server that the check waits for. None or an empty text: it does not wait."""
    interval_s: float | None = INTERVAL_S
    """Interval in a running agent. None: the check repeats only while it finds a fault, because its
    result does not change or a component of the agent reports the change."""
    retry_s: float = RETRY_S
    """Interval while the check finds a fault."""
    runs_in_agent: bool = True
    """False if a component of a running agent already detects these problems."""
    runs_in_command: bool = True
    """False if the check requires a running agent."""


def findings_of(check: Check[ProbeT], probe: ProbeT) -> Iterator[Finding]:
    """Yield the findings. If the check raises, yield a fault that contains the error."""
    try:
        for found in check.find(probe):
            yield replace(found, remedy=remedy_of(found.message, found.remedy))
    except Exception as error:
        kind = "" if isinstance(error, SidecarError) else f"{type(error).__name__}: "
        yield fault(
            check.name,
            f"The check of `{check.name}` failed: {kind}{error}",
            "Follow the message. If you cannot fix the cause, report it with the output of "
            "`check --debug`.",
            code="check_failed",
        )


AnswerT_co = TypeVar("AnswerT_co", covariant=True)


class CachedAnswer(Generic[AnswerT_co]):
    """Calls a function once, on the thread of the first caller, and caches its result or exception.
    Concurrent callers wait for the answer."""

    def __init__(self, ask: Callable[[], AnswerT_co]) -> None:
        self._ask = ask
        self._lock = threading.Lock()
        self._answers: list[AnswerT_co] = []
        self._errors: list[Exception] = []

    def __call__(self) -> AnswerT_co:
        with self._lock:
            if not self._answers and not self._errors:
                try:
                    self._answers.append(self._ask())
                except Exception as error:
                    self._errors.append(error)
            if self._errors:
                raise self._errors[0]
            return self._answers[0]
