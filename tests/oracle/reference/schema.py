"""Schema that the bytes do not contain: tables by id, their columns and types."""

from dataclasses import dataclass, field
from uuid import UUID

from tests.oracle.reference.cql_types import CqlType


@dataclass(frozen=True, slots=True)
class Table:
    """A table or a materialised view.

    `partition_key` and `clustering` are the types in key order. `columns` are the types of static
    and regular columns by name, with dropped columns whose name no current column has.
    """

    id: UUID
    keyspace: str
    name: str
    partition_key: tuple[CqlType, ...]
    clustering: tuple[CqlType, ...]
    columns: dict[str, CqlType]


@dataclass(frozen=True, slots=True)
class Schema:
    """Tables by id. A table that was dropped and recreated has both ids."""

    tables: dict[UUID, Table] = field(default_factory=dict)
