"""Checks that a target can store column names: not empty, distinct and not reserved. Pure.

Spark ignores the case of names at every level of nesting, so names that differ only in case
collide. Formats and Spark's own plans reserve some column names, but no names of struct fields.
"""

from collections.abc import Iterator
from typing import Literal

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from sidecar.errors import ConfigError

Format = Literal["delta", "iceberg", "parquet"]

ROW_ID = "cdc_row_id"
"""The column that identifies a row: a hash of its primary key."""

_ICEBERG = (
    "_file",
    "_pos",
    "_deleted",
    "_spec_id",
    "_partition",
    "_row_id",
    "_last_updated_sequence_number",
)
"""`org.apache.iceberg.MetadataColumns`. A table with such a column cannot be read."""
_DELTA = ("_metadata", "_change_type", "_commit_version", "_commit_timestamp")
"""The hidden file metadata column, and the columns of the change data feed (`CDCReader`)."""
RESERVED: dict[Format, frozenset[str]] = {
    "delta": frozenset((ROW_ID, *_DELTA)),
    "iceberg": frozenset((ROW_ID, *_ICEBERG)),
    "parquet": frozenset((ROW_ID,)),
}
"""Names that are reserved in any case, here in lower case."""
_PLANNED: dict[Format, frozenset[str]] = {
    # Delta's readers and its MERGE.
    "delta": frozenset(
        (
            "__delta_internal_is_row_deleted",
            "_tmp_metadata_row_index",
            "_source_row_present_",
            "_row_dropped_",
            "filePath",
            "dvFilePath",
            "deletionVectorId",
            "rowIndexCol",
        )
    ),
    # Spark's MERGE. It silently replaces the values of `__row_operation`.
    "iceberg": frozenset(
        (
            "__row_operation",
            "__row_id",
            "__row_from_source",
            "__row_from_target",
            "__original_row_id__file",
            "__original_row_id__pos",
        )
    ),
    "parquet": frozenset(),
}
"""Columns that query plans add. Capital letters must match, so `filepath` is not reserved."""


class ColumnNameError(ConfigError):
    """The target cannot store a table because of a column name. Other tables are unaffected."""


def require_names(
    table: str, row: StructType, format_: Format, remedy: str, *, is_nested: bool = False
) -> None:
    """Raise `ColumnNameError` for the first name that the target cannot store.

    With `is_nested`, the target stores the columns as fields of a struct.
    """
    reserved = frozenset[str]() if is_nested else RESERVED[format_] | _PLANNED[format_]
    problem = next(_problems(row, reserved, ()), None)
    if problem is None and format_ == "iceberg":
        problem = next(_paths_problems(row), None)
    if problem is not None:
        raise ColumnNameError(f"{table}: {problem}. {remedy}")


def _problems(kind: DataType, reserved: frozenset[str], path: tuple[str, ...]) -> Iterator[str]:
    """Yield problems as sentences without a full stop. `reserved` applies to the top level only."""
    seen: dict[tuple[str, str], str] = {}
    for name, child in children(kind):
        place = _shown((*path, name))
        others = {seen.setdefault(key, name) for key in _keys(name)} - {name}
        if reserved & {name, *(text for _, text in _keys(name))}:
            yield f"the target reserves the name of the column {place}"
        elif others:
            first = _shown((*path, others.pop()))
            yield f"the columns {first} and {place} differ only in case, which the target ignores"
        yield from _problems(child, frozenset(), (*path, name))


def _paths_problems(row: StructType) -> Iterator[str]:
    """Iceberg finds a field by its path, such as `a.b`, which may also be the name of a column. Its
    Parquet files cannot store empty names."""
    seen: dict[str, tuple[str, ...]] = {}
    for path in _paths(row, ()):
        other = seen.setdefault(".".join(path).lower(), path)
        if other != path:
            yield f"the columns {_shown(other)} and {_shown(path)} share a path in Iceberg"
        if not path[-1]:
            yield f"the column {_shown(path)} has an empty name, which Iceberg cannot store"


def _paths(kind: DataType, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for name, child in children(kind):
        yield (*path, name)
        yield from _paths(child, (*path, name))


def children(kind: DataType | None) -> list[tuple[str, DataType]]:
    """The names and types of a type's immediate children, as SQL names them."""
    match kind:
        case ArrayType():
            return [("element", kind.elementType)]
        case MapType():
            return [("key", kind.keyType), ("value", kind.valueType)]
        case StructType():
            return [(field.name, field.dataType) for field in kind.fields]
    return []


def _shown(path: tuple[str, ...]) -> str:
    """A path as text. Names that are not identifiers are quoted."""
    return ".".join(name if name.isidentifier() else f"`{name}`" for name in path)


def _keys(name: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """The keys of a name: one as formats compare names, one letter by letter as Spark does.

    Java's `String.toLowerCase` and `String.equalsIgnoreCase` differ. Only the second treats ſ as s,
    and İ as i.
    """
    return ("lower", name.lower()), ("letters", "".join(_lower(_upper(each)) for each in name))


def _upper(letter: str) -> str:
    """Java converts a single letter to upper case only if the result is also a single letter."""
    upper = letter.upper()
    return upper if len(upper) == 1 else letter


def _lower(letter: str) -> str:
    # Only İ, the Turkish capital I, has a lower case of two characters.
    return letter.lower()[0]
