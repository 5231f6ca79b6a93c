"""Pages of rows, and the protocols of the node and of the encoders, which tests replace."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from agent.snapshot.offsets import TableSnapshot
from agent.snapshot.plan import NodeTable
from agent.snapshot.ring import Ring
from commitlog import EventBatch


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


class Encoder(Protocol):
    """`commitlog.SnapshotEncoder`."""

    def cql(self, after: int, to: int) -> str: ...
    def encode(
        self,
        page: bytes,
        *,
        read_at_us: int,
        start: int,
        end: int | None = None,
        continues: bool = False,
    ) -> EventBatch: ...


class SnapshotNode(PageSource, Protocol):
    """The local node."""

    def ring(self) -> Ring: ...
    def tables(self) -> list[NodeTable]: ...
    def replication(self, keyspace: str) -> Mapping[str, str]: ...
    def unreachable_peers(self) -> list[str]: ...
    def masked_before(self, table: str) -> str:
        """Why pages of a table have masks instead of values; empty if they have values. Raises
        UnavailableError and AccessDeniedError."""

    def masked_after(self, table: str) -> str:
        """Why the page that was just read may have masks. Raises as `masked_before`."""

    def close(self) -> None: ...


class EncoderSource(Protocol):
    """Creates encoders."""

    def encoder(
        self, table: TableSnapshot, *, element_times: bool, was_rejected: bool
    ) -> Encoder | None:
        """None while the schema lacks the table. `was_rejected`: the node rejected the last
        statement, so the schema is outdated."""
