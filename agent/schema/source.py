"""The protocol of a schema feeder, and the identity of a node."""

from dataclasses import dataclass
from typing import Protocol

from commitlog import Schema


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """Host id and cluster name of a node, as events contain them."""

    node_id: str
    cluster_name: str


@dataclass(frozen=True, slots=True)
class KnownSchema:
    schema: Schema
    identity: NodeIdentity


class SchemaFeeder(Protocol):
    """Source of schemas: a node, or a file."""

    @property
    def description(self) -> str:
        """Name of the source, for logs and errors."""

    def fetch(self) -> KnownSchema:
        """The current schema.

        Raises `UnavailableError` if a retry can help, else `AccessDeniedError` or `ConfigError`.
        """

    def close(self) -> None:
        """Closes connections; `fetch` is not called afterwards."""
