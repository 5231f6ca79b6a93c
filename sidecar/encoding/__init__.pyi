"""What both encoders take of a schema registry (docs/reference/avro.md, protobuf.md)."""

from collections.abc import Callable
from typing import Final, Literal, final

__all__ = ["SchemaIds", "Unregistered"]

_Headers = list[tuple[str, bytes]]
_Partitions = Callable[[str], int | None]
_Delivered = Callable[..., None]

@final
class Unregistered:
    """A schema without an id, and the names that its subject may have. Hashable."""

    side: Final[Literal["key", "value"]]
    topic: Final[str]
    record: Final[str]
    """Full name of the record."""
    schema: Final[str]
    """The schema as Avro's JSON, or as Protobuf's text."""
    schema_type: Final[Literal["AVRO", "PROTOBUF"]]
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class SchemaIds:
    """Schema ids of a registry, shared by all readers. Any thread may use it."""

    def __new__(cls) -> SchemaIds: ...
    def get(self, schema: Unregistered) -> int | None: ...
    def set(self, schema: Unregistered, id: int) -> None:
        """Set the id for all later records. Raise OverflowError beyond 32 bits."""
    def forget_all(self) -> None:
        """Forget all ids. Records need new ones."""
    def abandon(self, schema: Unregistered) -> None:
        """Reject MongoDB events with this schema until it has an id. An existing id stays."""
