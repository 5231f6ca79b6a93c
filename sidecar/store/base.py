"""The protocol of a remote store: files by name in one directory."""

from pathlib import Path
from typing import Protocol


class StoreError(Exception):
    """A request to the store failed; the message says why and what to do.

    `is_segment_specific`: other segments may succeed, so the agent sends them first.
    `is_forbidden`: a right is missing, so a retry does not help.
    """

    def __init__(
        self, message: str, *, is_segment_specific: bool = False, is_forbidden: bool = False
    ) -> None:
        super().__init__(message)
        self.is_segment_specific = is_segment_specific
        self.is_forbidden = is_forbidden


class StoreStoppedError(Exception):
    """A request was cancelled because the agent stops."""


class Addressed(Protocol):
    """Anything with an address."""

    @property
    def address(self) -> str:
        """Address for messages and logs."""


class Store(Addressed, Protocol):
    """For one thread. Its client is loaded with the first request."""

    def put(self, file: Path) -> bool:
        """Sends a file and compares the checksums. False when the store had it already. Raises
        StoreError, and OSError for the file."""

    def names(self) -> list[str]:
        """File names in the store. Raises StoreError."""

    def get(self, name: str, target: Path) -> bool:
        """Writes a file to `target`, durably, and compares the checksums. False when the store does
        not have it. Raises StoreError, and OSError for the target."""

    def remove(self, name: str) -> None:
        """Deletes a file if it exists. Raises StoreError."""


class StoppableStore(Store, Protocol):
    """A store with requests that can be cancelled; they raise StoreStoppedError then."""

    def stop(self) -> None:
        """Cancels the current request and all later ones. Any thread may call it."""

    def close(self) -> None:
        """Releases resources. Called by the thread that makes requests."""


def upload_mismatch(file_name: str, address: str) -> str:
    return (
        f"{file_name}: the checksum in {address} differs from the sent file; the agent sends it "
        "again."
    )


def download_mismatch(file_name: str, address: str) -> str:
    return (
        f"{file_name}: the fetched file has another checksum than {address}; the agent fetches it "
        "again."
    )
