"""The protocol of a schema feeder, and the identity of a node."""

from dataclasses import dataclass, field
from typing import Protocol

from agent.schema.write_options import WriteOptions
from commitlog import Schema


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """Host id and cluster name of a node, as events contain them, and its place.

    Two identities with the same id and cluster are equal, wherever the node is.
    """

    node_id: str
    cluster_name: str
    datacenter: str | None = field(default=None, compare=False)
    """None: not known, as without a connection to the node."""
    rack: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class KnownSchema:
    schema: Schema
    identity: NodeIdentity
    write_options: WriteOptions | None = field(default=None, compare=False)
    """None of a stored schema."""


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
