"""CQL types, as far as the encoding of a value depends on them (format notes §6.1, §4.8.2)."""

from dataclasses import dataclass

FIXED_LENGTHS: dict[str, int] = {
    "boolean": 1,
    "int": 4,
    "float": 4,
    "bigint": 8,
    "double": 8,
    "timestamp": 8,
    "uuid": 16,
    "timeuuid": 16,
}
"""Native types without a length prefix, in bytes."""

# tinyint, smallint, date and time have a fixed size but are written with a length prefix.
VARIABLE_LENGTH = frozenset(
    {"ascii", "blob", "counter", "date", "decimal", "duration", "inet", "smallint", "text"}
    | {"time", "tinyint", "varchar", "varint"}
)
"""Native types with a length prefix."""

FIXED_LENGTH_CLASSES = {"DateType": 8, "EmptyType": 0, "LexicalUUIDType": 16}
"""Simple names of Java types without a CQL name and without a length prefix, in bytes."""


@dataclass(frozen=True, slots=True)
class Native:
    """A type with a CQL name of one word."""

    name: str


@dataclass(frozen=True, slots=True)
class Collection:
    """A list, set or map; `key` is None but for a map."""

    kind: str
    key: "CqlType | None"
    element: "CqlType"
    frozen: bool


@dataclass(frozen=True, slots=True)
class Tuple:
    """A tuple; always frozen."""

    fields: tuple["CqlType", ...]


@dataclass(frozen=True, slots=True)
class UserType:
    """A user-defined type with its fields in order of definition."""

    keyspace: str
    name: str
    fields: tuple[tuple[str, "CqlType"], ...]
    frozen: bool


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector of `dimension` elements."""

    element: "CqlType"
    dimension: int


@dataclass(frozen=True, slots=True)
class Custom:
    """Type known only by its Java class."""

    java_class: str


CqlType = Native | Collection | Tuple | UserType | Vector | Custom


def fixed_length(cql_type: CqlType) -> int | None:
    """Bytes of a value without a length prefix; None for a value with one.

    Applies to clustering values and the values of simple columns, not to nested values. Source:
    AbstractType#valueLengthIfFixed.
    """
    match cql_type:
        case Native(name):
            return FIXED_LENGTHS.get(name)
        case Vector(element, dimension):
            length = fixed_length(element)
            return None if length is None else length * dimension
        case Custom(java_class):
            return FIXED_LENGTH_CLASSES.get(java_class.rpartition(".")[2])
        case _:
            return None


def is_complex(cql_type: CqlType) -> bool:
    """Whether a column of this type is stored as one cell per element (isMultiCell)."""
    return isinstance(cql_type, Collection | UserType) and not cql_type.frozen
