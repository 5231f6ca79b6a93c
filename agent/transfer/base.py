"""The contract of a transfer."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path


class TransferDeferredError(Exception):
    """A segment stays in `cdc_raw` for now. The message is a clause that says why."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """Segments that have left `cdc_raw` and are not where they go yet."""

    where: str
    """Where they go, for people."""
    segments: int = 0
    size_bytes: int = 0
    max_bytes: int = 0
    trouble: str = ""
    """What is wrong at the moment, in a sentence; empty where nothing is."""


class Transfer(ABC):
    """Takes finished segments out of `cdc_raw`. `transfer` is called by one thread."""

    @abstractmethod
    def transfer(self, log: Path, idx: Path) -> None:
        """Both files are gone on return. Either may be missing, because a crash came in between or
        the node removed it; then the other one still leaves. Doing it twice is harmless.

        Raises OSError or TransferDeferredError; then it is tried again later.
        """

    def open(self) -> None:  # noqa: B027 - most transfers have nothing to begin
        """Begins what goes on beside the pipeline. Raises OSError."""

    def close(self, deadline_s: float) -> None:  # noqa: B027 - or to end
        """Ends it; what is not done is done after the next start."""

    @property
    def backlog(self) -> Backlog | None:
        """None where segments are dealt with at once. Any thread may ask."""
        return None
