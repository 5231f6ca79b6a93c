"""The part of a deployment that a change stream watches."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scope:
    """A watched collection, a watched database, or without either the whole deployment."""

    database: str | None = None
    collection: str | None = None

    @property
    def stream_name(self) -> str:
        """The name of the scope's stream; empty for the whole deployment."""
        return ".".join(part for part in (self.database, self.collection) if part is not None)
