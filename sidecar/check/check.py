"""One entry of an agent's list of checks.

`check` runs the whole list. `run` runs it at its start, and repeats the checks whose answer can
change while the agent runs. Checks read a *probe*: a frozen value that answers what several of
them need, such as who the node is. The command fills it by asking servers; a running agent fills
it from its own parts where these know the answer.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from sidecar.check.finding import Finding, fault
from sidecar.errors import SidecarError

ProbeT = TypeVar("ProbeT")
ProbeT_contra = TypeVar("ProbeT_contra", contravariant=True)

EVERY_S = 60.0
AGAIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Check(Generic[ProbeT_contra]):
    """A named function from a probe to findings."""

    name: str
    """What it checks, in a word or two. Findings about its own failure have this subject."""
    find: Callable[[ProbeT_contra], Iterable[Finding]]
    """May wait for the server that `asks` names. Changes nothing."""
    asks: Callable[[ProbeT_contra], str] | None = None
    """The server that it waits for, with its address; None for checks that do not wait."""
    every_s: float | None = EVERY_S
    """How often a running agent repeats it; None: only while it finds a fault, because its answer
    does not change, or a part of the agent reports the change."""
    again_s: float = AGAIN_S
    """How often while it finds a fault."""
    is_of_run: bool = True
    """False: a running agent does not make it, because one of its parts does the same."""


def findings_of(check: Check[ProbeT], probe: ProbeT) -> Iterator[Finding]:
    """Each finding as it is made. A check that raises ends with a fault that names the error."""
    try:
        yield from check.find(probe)
    except Exception as error:
        kind = "" if isinstance(error, SidecarError) else f"{type(error).__name__}: "
        yield fault(
            check.name,
            f"The check of `{check.name}` failed: {kind}{error}",
            "Follow the message; if it names nothing of yours, report it with the output of "
            "`check --debug`.",
            code="check_failed",
        )
