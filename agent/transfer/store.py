"""The contract of a store on another machine: files by name in one directory of it.

StoreError         a file could not be sent, fetched or removed
StoreStoppedError  it was given up because the agent stops
"""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol


class StoreError(Exception):
    """What the store or the way to it did; the message is a sentence for people.

    `of_segment`: others may have better luck, so they go first. `is_forbidden`: a right is missing,
    so that trying again does not help.
    """

    def __init__(
        self, sentence: str, *, of_segment: bool = False, is_forbidden: bool = False
    ) -> None:
        super().__init__(sentence)
        self.of_segment = of_segment
        self.is_forbidden = is_forbidden


class StoreStoppedError(Exception):
    """An upload was given up because the agent stops."""


class Store(Protocol):
    """Where segments go. For one thread."""

    @property
    def where(self) -> str:
        """Its address, for people."""

    def open(self) -> None:
        """Loads what it works with, before events are delivered: later it would cost them."""

    def put(self, file: Path, is_stopped: Callable[[], bool]) -> bool:
        """The store has the whole file on return, by a checksum that both sides made; False when it
        had it before. Raises StoreError, StoreStoppedError once `is_stopped`, OSError for the
        file."""

    def names(self) -> list[str]:
        """Of the files in it. Raises StoreError."""

    def get(self, name: str, target: Path) -> bool:
        """`target` is the whole file on return, durably, by its checksum; False when the store has
        none of that name. Raises StoreError, OSError for the target."""

    def remove(self, name: str) -> None:
        """Deletes a file; one that is not there is none. Raises StoreError."""
