"""Pages of an answer, and who gives them."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Page:
    """Rows as bytes, and where the next page begins; None behind the last one."""

    body: bytes
    next_page: bytes | None
    read_at_us: int
    """Wall clock when it was asked for."""


class PendingPage(Protocol):
    """A page that is on its way."""

    def result(self) -> Page:
        """Waits for it. Raises UnavailableError, RefusedError and RefusedTableError."""


class Pages(Protocol):
    """The node beside the agent, as far as a reader needs it."""

    def ask(self, cql: str, consistency: str, rows: int, next_page: bytes | None) -> PendingPage:
        """Asks for at most so many rows, and does not wait. Raises as `PendingPage.result`."""
