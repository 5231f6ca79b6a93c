"""What a schema feeder is, and who the node is that it speaks of."""

from dataclasses import dataclass
from typing import Protocol

from commitlog import Schema


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """Who says it: the node's host id and its cluster's name, as events carry them."""

    node_id: str
    cluster_name: str


@dataclass(frozen=True, slots=True)
class KnownSchema:
    """A schema, and the node whose schema it is."""

    schema: Schema
    identity: NodeIdentity


class SchemaFeeder(Protocol):
    """Where schemas come from: a node, or a file."""

    @property
    def description(self) -> str:
        """What is read, in a few words, for log lines."""

    def fetch(self) -> KnownSchema:
        """The schema as it is at the moment.

        Raises `UnavailableError` when trying again may help, `RefusedError` and `ConfigError`
        when it cannot.
        """

    def close(self) -> None:
        """Lets go of connections; `fetch` is not called any more."""
