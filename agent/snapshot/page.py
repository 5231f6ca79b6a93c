"""Pages of rows, and their source."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Page:
    """Encoded rows, and the state that requests the next page; None on the last page."""

    body: bytes
    next_page: bytes | None
    read_at_us: int
    """Wall clock at the request."""


class PendingPage(Protocol):
    def result(self) -> Page:
        """Waits for it. Raises UnavailableError, AccessDeniedError and RejectedTableError."""


class PageSource(Protocol):
    """The node, as a reader uses it."""

    def ask(self, cql: str, consistency: str, rows: int, next_page: bytes | None) -> PendingPage:
        """Requests at most so many rows without waiting. Raises as `PendingPage.result`."""
