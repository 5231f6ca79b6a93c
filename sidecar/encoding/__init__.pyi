"""Schema ids of a registry, for both encoders (docs/reference/avro.md, protobuf.md)."""

from collections.abc import Callable
from typing import Final, Literal, final

__all__ = ["SchemaIds", "Unregistered"]

_Headers = list[tuple[str, bytes]]
_Partitions = Callable[[str], int | None]
_Delivered = Callable[..., None]

@final
class Unregistered:
    """A schema without an id, and the names that its subject may contain. Hashable."""

    side: Final[Literal["key", "value"]]
    topic: Final[str]
    record: Final[str]
    """Full name of the record."""
    schema: Final[str]
    """The schema as Avro JSON or Protobuf text."""
    schema_type: Final[Literal["AVRO", "PROTOBUF"]]
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class SchemaIds:
    """Schema ids of a registry, shared by all readers. Thread-safe."""

    def __new__(cls) -> SchemaIds: ...
    def get(self, schema: Unregistered) -> int | None: ...
    def set(self, schema: Unregistered, id: int) -> None:
        """Sets the id for all later records. Raises OverflowError beyond 32 bits."""
    def forget_all(self) -> None:
        """Forgets all ids, so that records need new ids."""
    def abandon(self, schema: Unregistered) -> None:
        """Rejects MongoDB events with this schema until it gets an id. An existing id stays."""
