"""Contracts of the node and of the encoders, which tests replace by fakes."""

from collections.abc import Mapping
from typing import Protocol

from agent.snapshot.offsets import TableSnapshot
from agent.snapshot.page import Pages
from agent.snapshot.plan import NodeTable
from agent.snapshot.range_reader import Encoder
from agent.snapshot.ring import Ring


class SnapshotNode(Pages, Protocol):
    """The node beside the agent."""

    def ring(self) -> Ring: ...
    def tables(self) -> list[NodeTable]: ...
    def replication(self, keyspace: str) -> Mapping[str, str]: ...
    def silent_peers(self) -> list[str]: ...
    def close(self) -> None: ...


class EncoderSource(Protocol):
    """Where encoders come from."""

    def encoder(
        self, copy: TableSnapshot, *, element_times: bool, is_refused: bool
    ) -> Encoder | None:
        """None while the schema does not have the table. `is_refused`: the node did not take the
        last statement, so the schema is behind."""
