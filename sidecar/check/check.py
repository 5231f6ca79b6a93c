"""One entry of an agent's list of checks.

`check` runs the whole list. `run` runs it at its start, and repeats the checks whose result can
change. Checks read a *probe*: a frozen value with facts that several checks need, such as the
identity of the node. The command fetches these facts from servers; a running agent takes them from
its own components where possible.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from sidecar.check.finding import Finding, fault
from sidecar.errors import SidecarError
from sidecar.files.os_errors import remedy_of

ProbeT = TypeVar("ProbeT")
ProbeT_contra = TypeVar("ProbeT_contra", contravariant=True)

INTERVAL_S = 60.0
RETRY_S = 5.0


@dataclass(frozen=True, slots=True)
class Check(Generic[ProbeT_contra]):
    """A named function from a probe to findings."""

    name: str
    """What it checks, in a word or two; the subject of a finding about its own failure."""
    find: Callable[[ProbeT_contra], Iterable[Finding]]
    """The check itself. May wait for the server that `server` names; changes nothing."""
    server: Callable[[ProbeT_contra], str] | None = None
    """The server that it waits for, with its address; None if it does not wait."""
    interval_s: float | None = INTERVAL_S
    """Interval in a running agent. None: repeated only while it finds a fault, because its result
    does not change or a component of the agent reports the change."""
    retry_s: float = RETRY_S
    """Interval while it finds a fault."""
    runs_in_agent: bool = True
    """False if a component of a running agent checks the same."""
    runs_in_command: bool = True
    """False if it needs the HTTP address of a running agent."""


def findings_of(check: Check[ProbeT], probe: ProbeT) -> Iterator[Finding]:
    """Yield each finding. A check that raises ends with a fault that names the error."""
    try:
        for found in check.find(probe):
            yield replace(found, remedy=remedy_of(found.message, found.remedy))
    except Exception as error:
        kind = "" if isinstance(error, SidecarError) else f"{type(error).__name__}: "
        yield fault(
            check.name,
            f"The check of `{check.name}` failed: {kind}{error}",
            "Follow the message. If it names nothing that you can change, report it with the "
            "output of `check --debug`.",
            code="check_failed",
        )
