"""The interface of a transfer."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path


class TransferDeferredError(Exception):
    """A segment stays in `cdc_raw` for now; the message is the reason, without a period."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """Segments that have left `cdc_raw` and not yet reached their destination."""

    destination: str
    """Address for messages."""
    segments: int = 0
    size_bytes: int = 0
    max_bytes: int = 0
    error: str = ""
    """Why segments are not sent; empty while they are."""


class Transfer(ABC):
    """Moves finished segments out of `cdc_raw`. One thread calls `transfer`."""

    @abstractmethod
    def transfer(self, log: Path, idx: Path) -> None:
        """Moves both files. Either may be missing after a crash or a deletion by the node. Can be
        repeated.

        Raises OSError or TransferDeferredError; the caller retries later.
        """

    def open(self) -> None:  # noqa: B027 - optional
        """Starts background work. Raises OSError."""

    def close(self, deadline_s: float) -> None:  # noqa: B027 - optional
        """Stops background work, which resumes after the next start."""

    @property
    def backlog(self) -> Backlog | None:
        """None when `transfer` completes at once. Any thread may call it."""
        return None
