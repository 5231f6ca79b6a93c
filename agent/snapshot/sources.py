"""Protocols of the node and of the encoders, which tests replace."""

from collections.abc import Mapping
from typing import Protocol

from agent.snapshot.offsets import TableSnapshot
from agent.snapshot.page import PageSource
from agent.snapshot.plan import NodeTable
from agent.snapshot.range_reader import Encoder
from agent.snapshot.ring import Ring


class SnapshotNode(PageSource, Protocol):
    """The local node."""

    def ring(self) -> Ring: ...
    def tables(self) -> list[NodeTable]: ...
    def replication(self, keyspace: str) -> Mapping[str, str]: ...
    def unreachable_peers(self) -> list[str]: ...
    def close(self) -> None: ...


class EncoderSource(Protocol):
    """Creates encoders."""

    def encoder(
        self, table: TableSnapshot, *, element_times: bool, was_rejected: bool
    ) -> Encoder | None:
        """None while the schema lacks the table. `was_rejected`: the node rejected the last
        statement, so the schema is outdated."""
