"""A mutation and its partition updates (format notes §4.1 to §4.3)."""

from uuid import UUID

from tests.oracle.reference.cql_types import CqlType
from tests.oracle.reference.cursor import Cursor
from tests.oracle.reference.errors import MalformedError
from tests.oracle.reference.model import Item, PartitionUpdate
from tests.oracle.reference.rows import END_OF_PARTITION, IS_MARKER, RowReader
from tests.oracle.reference.schema import Schema, Table
from tests.oracle.reference.times import TimeBases, signed

KNOWN_FLAGS = 0x01
"""Flag of a mutation of version 9: potential transaction conflicts are allowed."""

IS_EMPTY = 0x01
IS_REVERSED = 0x02
HAS_PARTITION_DELETION = 0x04
HAS_STATIC_ROW = 0x08
HAS_ROW_ESTIMATE = 0x10


class UnknownTableError(Exception):
    """The mutation contains an update of a table that the schema lacks."""

    def __init__(self, table_id: UUID) -> None:
        super().__init__(str(table_id))
        self.table_id = table_id


class UnknownColumnError(Exception):
    """An update of `table` has a column that the schema lacks."""

    def __init__(self, table: Table, column: str) -> None:
        super().__init__(f"{table.keyspace}.{table.name}: {column!r}")
        self.table = table
        self.column = column


def read_mutation(payload: bytes, version: int, schema: Schema) -> tuple[PartitionUpdate, ...]:
    """The partition updates of one record.

    `version` is that of the segment: 6 to 9. Raises MalformedError, and UnknownTableError or
    UnknownColumnError for the first name that `schema` lacks: an update has no length, so the bytes
    after such a name are unreadable. Source: Mutation$MutationSerializer.
    """
    cursor = Cursor(payload)
    if version >= 9 and (flags := cursor.u8()) & ~KNOWN_FLAGS:
        raise MalformedError(0, f"mutation flags {flags:#04x}")
    return _read_updates(cursor, version, schema)


def _read_updates(cursor: Cursor, version: int, schema: Schema) -> tuple[PartitionUpdate, ...]:
    count = cursor.uvint()
    if count == 0:
        raise MalformedError(cursor.offset, "mutation without an update")
    updates = []
    for _ in range(count):
        updates.append(_read_update(cursor, version, schema))
    if not cursor.at_end():
        raise MalformedError(cursor.offset, "bytes behind the last update of the mutation")
    return tuple(updates)


def _read_update(cursor: Cursor, version: int, schema: Schema) -> PartitionUpdate:
    """Source: PartitionUpdate$PartitionUpdateSerializer, UnfilteredRowIteratorSerializer; §4.2."""
    table_id = cursor.uuid()
    table = schema.tables.get(table_id)
    if table is None:
        raise UnknownTableError(table_id)
    epoch = signed(cursor.uvint(), 64) if version >= 9 else None
    key = cursor.vbytes()
    flags = cursor.u8()
    if flags & IS_EMPTY:
        return PartitionUpdate(table, key, None, None, (), epoch)
    if flags & IS_REVERSED:
        raise MalformedError(cursor.offset - 1, "reversed partition update")

    bases = TimeBases.read(cursor, version)
    static_columns = _read_columns(cursor, table) if flags & HAS_STATIC_ROW else ()
    regular_columns = _read_columns(cursor, table)
    rows = RowReader(cursor, bases, table.clustering)

    deletion = bases.deletion(cursor) if flags & HAS_PARTITION_DELETION else None
    static = rows.static_row(static_columns) if flags & HAS_STATIC_ROW else None
    if static is not None and static.is_empty:
        static = None
    if flags & HAS_ROW_ESTIMATE:
        cursor.uvint()
    items: list[Item] = []
    while not (row_flags := cursor.u8()) & END_OF_PARTITION:
        if row_flags & IS_MARKER:
            items.append(rows.marker())
        elif not (row := rows.row(row_flags, regular_columns)).is_empty:
            items.append(row)
    return PartitionUpdate(table, key, deletion, static, tuple(items), epoch)


def _read_columns(cursor: Cursor, table: Table) -> tuple[tuple[str, CqlType], ...]:
    """Names that bitmaps and cells refer to by index; types come from the schema. Source:
    Columns$Serializer; §4.3."""
    columns = []
    for _ in range(cursor.uvint()):
        offset = cursor.offset
        try:
            name = cursor.vbytes().decode()
        except UnicodeDecodeError as error:
            raise MalformedError(offset, "column name is not UTF-8") from error
        if name not in table.columns:
            raise UnknownColumnError(table, name)
        columns.append((name, table.columns[name]))
    return tuple(columns)
