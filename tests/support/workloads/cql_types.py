"""CQL types as values, enough of them to write a column's type and its literals."""

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class CqlType:
    """A type: `name` with its element types in `of`; a user type also has the names of its fields.

    `is_frozen` matters for collections and user types only.
    """

    name: str
    of: tuple["CqlType", ...] = ()
    fields: tuple[str, ...] = ()
    is_frozen: bool = False
    dimension: int = 0

    @property
    def is_multi_cell(self) -> bool:
        """Whether a column of it has one cell an element."""
        return not self.is_frozen and (self.name in ("list", "set", "map") or bool(self.fields))

    @property
    def cql(self) -> str:
        """The type as it is declared for a column."""
        if self.name == "vector":
            text = f"vector<{self.of[0].cql}, {self.dimension}>"
        elif self.fields or not self.of:
            text = self.name
        else:
            text = f"{self.name}<{', '.join(element.cql for element in self.of)}>"
        return f"frozen<{text}>" if self.is_frozen and self.name != "vector" else text

    def frozen(self) -> "CqlType":
        """The frozen form, which is the only one inside other collections."""
        return self if self.name in SCALARS else replace(self, is_frozen=True)


SCALARS = (
    "ascii",
    "bigint",
    "blob",
    "boolean",
    "date",
    "decimal",
    "double",
    "duration",
    "float",
    "inet",
    "int",
    "smallint",
    "text",
    "time",
    "timestamp",
    "timeuuid",
    "tinyint",
    "uuid",
    "varint",
)
"""Every type without parameters but counter; varchar is another name of text."""

NEVER_EMPTY = ("date", "duration", "smallint", "time", "tinyint")
"""Types for which Cassandra refuses an empty value."""


def scalar(name: str) -> CqlType:
    return CqlType(name)


def list_of(element: CqlType) -> CqlType:
    return CqlType("list", (element,))


def set_of(element: CqlType) -> CqlType:
    return CqlType("set", (element,))


def map_of(key: CqlType, value: CqlType) -> CqlType:
    return CqlType("map", (key, value))


def tuple_of(*elements: CqlType) -> CqlType:
    """Tuples are always frozen."""
    return CqlType("tuple", elements, is_frozen=True)


def vector_of(element: CqlType, dimension: int) -> CqlType:
    """Since 5.0; always one cell."""
    return CqlType("vector", (element,), is_frozen=True, dimension=dimension)


def user_type(name: str, fields: Sequence[tuple[str, CqlType]]) -> CqlType:
    """Declared by `create_type`."""
    return CqlType(name, tuple(of for _, of in fields), tuple(field for field, _ in fields))


def create_type(keyspace: str, of: CqlType) -> str:
    """The statement that makes a user type."""
    fields = ", ".join(f"{name} {kind.cql}" for name, kind in zip(of.fields, of.of, strict=True))
    return f"CREATE TYPE {keyspace}.{of.name} ({fields})"
