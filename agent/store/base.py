"""The contract of a store on another machine: files by name in one directory of it.

StoreError         a file could not be sent, fetched or removed
StoreStoppedError  it was given up because the agent stops
"""

from pathlib import Path
from typing import Protocol


class StoreError(Exception):
    """A request to the store failed; the message says why and what to do.

    `is_segment_specific`: other segments may succeed, so the agent sends them first.
    `is_forbidden`: a right is missing, so a retry does not help.
    """

    def __init__(
        self, sentence: str, *, is_segment_specific: bool = False, is_forbidden: bool = False
    ) -> None:
        super().__init__(sentence)
        self.is_segment_specific = is_segment_specific
        self.is_forbidden = is_forbidden


class StoreStoppedError(Exception):
    """What was asked for was given up because the agent stops."""


class Store(Protocol):
    """Where segments go. For one thread. What it works with is loaded at its first request."""

    @property
    def where(self) -> str:
        """Its address, for people."""

    def put(self, file: Path) -> bool:
        """The store has the whole file on return, by a checksum that both sides made; False when it
        had it before. Raises StoreError, OSError for the file."""

    def names(self) -> list[str]:
        """Of the files in it. Raises StoreError."""

    def get(self, name: str, target: Path) -> bool:
        """`target` is the whole file on return, durably, by its checksum; False when the store has
        none of that name. Raises StoreError, OSError for the target."""

    def remove(self, name: str) -> None:
        """Deletes a file; one that is not there is none. Raises StoreError."""


class StoppableStore(Store, Protocol):
    """One whose every request can be given up, which then raises StoreStoppedError."""

    def stop(self) -> None:
        """Gives up the request that goes on, and all that come after. Any thread may call it."""

    def close(self) -> None:
        """Lets go of what it works with, by the thread that asks; a later request has it anew."""
