"""What the bytes do not say: tables by id, their columns and types."""

from dataclasses import dataclass, field
from uuid import UUID

from tests.oracle.reference.cql_types import CqlType


@dataclass(frozen=True, slots=True)
class Table:
    """A table or a materialised view.

    `partition_key` and `clustering` hold the types in key order; `columns` the types of static and
    regular columns by name, dropped ones included where no current column has the name.
    """

    id: UUID
    keyspace: str
    name: str
    partition_key: tuple[CqlType, ...]
    clustering: tuple[CqlType, ...]
    columns: dict[str, CqlType]


@dataclass(frozen=True, slots=True)
class Schema:
    """Tables by id. A table that was dropped and made again stands under both ids."""

    tables: dict[UUID, Table] = field(default_factory=dict)
