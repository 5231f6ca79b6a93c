"""The schema registry's part of the extension module (docs/reference/avro.md).

There is no module of this name; what is here is imported from `commitlog`."""

from typing import Literal, final

@final
class Unregistered:
    """A schema that has no id yet, and what its subject may be named after. Equal ones are one."""

    @property
    def side(self) -> Literal["key", "value"]: ...
    @property
    def topic(self) -> str: ...
    @property
    def record(self) -> str:
        """Full name of the record."""
    @property
    def schema(self) -> str:
        """Avro's JSON."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class SchemaIds:
    """Ids that a registry gave to schemas, shared by all readers. Any thread may use it."""

    def __new__(cls) -> SchemaIds: ...
    def get(self, schema: Unregistered) -> int | None: ...
    def set(self, schema: Unregistered, id: int) -> None:
        """From the next record on events have it. Raises OverflowError beyond 32 bits."""
    def give_up(self, schema: Unregistered) -> None:
        """What MongoDB events has this schema is refused until it has an id after all. One that
        has an id keeps it."""
