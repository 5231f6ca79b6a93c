"""Rows, cells and range-tombstone markers (format notes §4.6 to §4.10)."""

from dataclasses import dataclass

from tests.oracle.reference.cql_types import CqlType, fixed_length, is_complex
from tests.oracle.reference.cursor import Cursor
from tests.oracle.reference.errors import MalformedError
from tests.oracle.reference.model import (
    Bound,
    Boundary,
    Cell,
    Clustering,
    ComplexDeletion,
    Liveness,
    Row,
)
from tests.oracle.reference.times import LIVE_TIMESTAMP_US, TimeBases

Columns = tuple[tuple[str, CqlType], ...]
"""Names and types in the order of the update's header."""

# Flags of an unfiltered (UnfilteredSerializer).
END_OF_PARTITION = 0x01
IS_MARKER = 0x02
HAS_TIMESTAMP = 0x04
HAS_TTL = 0x08
HAS_DELETION = 0x10
HAS_ALL_COLUMNS = 0x20
HAS_COMPLEX_DELETION = 0x40
EXTENSION = 0x80

# Flags in the second byte, after EXTENSION.
IS_STATIC = 0x01
HAS_SHADOWABLE_DELETION = 0x02

# Flags of a cell (Cell$Serializer).
IS_DELETED = 0x01
IS_EXPIRING = 0x02
HAS_EMPTY_VALUE = 0x04
USE_ROW_TIMESTAMP = 0x08
USE_ROW_TTL = 0x10
CELL_FLAGS = 0x1F

CLUSTERING_BATCH = 32
"""Clustering values that share one header."""

LARGE_SUBSET = 64
"""Number of columns from which a subset is a list, not a bitmap."""

BOUND_KINDS = {
    0: "EXCL_END_BOUND",
    1: "INCL_START_BOUND",
    6: "INCL_END_BOUND",
    7: "EXCL_START_BOUND",
}
BOUNDARY_KINDS = {2: "EXCL_END_INCL_START_BOUNDARY", 5: "INCL_END_EXCL_START_BOUNDARY"}


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads the rows of one partition update at `cursor`.

    `clustering` holds the types of the table's clustering columns.
    """

    cursor: Cursor
    bases: TimeBases
    clustering: tuple[CqlType, ...]

    def static_row(self, columns: Columns) -> Row:
        """The static row, which has flags but no clustering."""
        offset = self.cursor.offset
        flags = self.cursor.u8()
        if not flags & EXTENSION or flags & (END_OF_PARTITION | IS_MARKER):
            raise MalformedError(offset, f"flags {flags:#04x} on a static row")
        extended = self.cursor.u8()
        if not extended & IS_STATIC:
            raise MalformedError(offset, "static row is not marked as one")
        return self._body(flags, extended, None, columns)

    def row(self, flags: int, columns: Columns) -> Row:
        """The row whose first byte was `flags`."""
        offset = self.cursor.offset
        extended = self.cursor.u8() if flags & EXTENSION else 0
        if extended & IS_STATIC:
            raise MalformedError(offset, "static row among the rows")
        return self._body(flags, extended, self._clustering(len(self.clustering)), columns)

    def marker(self) -> Bound | Boundary:
        """A range-tombstone marker, without its flags.

        Source: ClusteringBoundOrBoundary$Serializer; §4.10.
        """
        offset = self.cursor.offset
        kind = self.cursor.u8()
        size = self.cursor.u16()
        if size > len(self.clustering):
            raise MalformedError(
                offset, f"bound of {size} values, the table has {len(self.clustering)}"
            )
        prefix = self._clustering(size)
        if kind in BOUND_KINDS:
            return Bound(BOUND_KINDS[kind], prefix, self.bases.deletion(self.cursor))
        if kind in BOUNDARY_KINDS:
            close = self.bases.deletion(self.cursor)
            return Boundary(BOUNDARY_KINDS[kind], prefix, close, self.bases.deletion(self.cursor))
        raise MalformedError(offset, f"bound of kind {kind}")

    def _clustering(self, size: int) -> Clustering:
        """The first `size` clustering values (ClusteringPrefix$Serializer; §4.8.1).

        Each header has two bits for each of up to 32 values: empty, and null.
        """
        values: list[bytes | None] = []
        header = 0
        for i, cql_type in enumerate(self.clustering[:size]):
            bit = 2 * (i % CLUSTERING_BATCH)
            if bit == 0:
                header = self.cursor.uvint()
            if header >> bit + 1 & 1:
                values.append(None)
            elif header >> bit & 1:
                values.append(b"")
            else:
                values.append(self._value(cql_type))
        return tuple(values)

    def _value(self, cql_type: CqlType) -> bytes:
        """A clustering value or a simple column's value (AbstractType#readValue; §6.1)."""
        length = fixed_length(cql_type)
        return self.cursor.vbytes() if length is None else self.cursor.take(length)

    def _body(
        self, flags: int, extended: int, clustering: Clustering | None, columns: Columns
    ) -> Row:
        """Everything after the clustering (UnfilteredSerializer#serializeRowBody; §4.7)."""
        liveness = self._liveness(flags) if flags & HAS_TIMESTAMP else None
        deletion = self.bases.deletion(self.cursor) if flags & HAS_DELETION else None
        present = columns if flags & HAS_ALL_COLUMNS else self._subset(columns)
        complex_deletions: list[ComplexDeletion] = []
        cells: list[Cell] = []
        for name, cql_type in present:
            if not is_complex(cql_type):
                cells.append(self._cell(name, cql_type, liveness, in_complex=False))
                continue
            # With the flag, every complex column has a deletion; those without one write a live
            # one.
            if flags & HAS_COMPLEX_DELETION:
                found = self.bases.deletion(self.cursor)
                if found.timestamp_us != LIVE_TIMESTAMP_US:
                    complex_deletions.append(ComplexDeletion(name, found))
            for _ in range(self.cursor.uvint()):
                cells.append(self._cell(name, cql_type, liveness, in_complex=True))
        return Row(
            clustering,
            liveness,
            deletion,
            deletion is not None and bool(extended & HAS_SHADOWABLE_DELETION),
            tuple(complex_deletions),
            tuple(cells),
        )

    def _liveness(self, flags: int) -> Liveness:
        """The row marker: timestamp, then TTL before local deletion time (§4.7)."""
        timestamp_us = self.bases.timestamp(self.cursor)
        if not flags & HAS_TTL:
            return Liveness(timestamp_us, None, None)
        ttl_s = self.bases.ttl(self.cursor)
        return Liveness(timestamp_us, ttl_s, self.bases.ldt(self.cursor))

    def _cell(
        self, column: str, cql_type: CqlType, liveness: Liveness | None, *, in_complex: bool
    ) -> Cell:
        """One cell: timestamp, local deletion time before TTL, path, value (§4.8.2)."""
        cursor, bases = self.cursor, self.bases
        offset = cursor.offset
        flags = cursor.u8()
        deleted, expiring = flags & IS_DELETED, flags & IS_EXPIRING
        row_ttl = flags & USE_ROW_TTL
        if flags & ~CELL_FLAGS or (deleted and expiring) or (row_ttl and not expiring):
            raise MalformedError(offset, f"cell flags {flags:#04x}")
        if (flags & USE_ROW_TIMESTAMP and liveness is None) or (
            row_ttl and (liveness is None or liveness.ttl_s is None)
        ):
            raise MalformedError(offset, "cell refers to times that the row does not have")

        if flags & USE_ROW_TIMESTAMP and liveness is not None:
            timestamp_us = liveness.timestamp_us
        else:
            timestamp_us = bases.timestamp(cursor)
        if row_ttl and liveness is not None:
            ttl_s, ldt_s = liveness.ttl_s, liveness.ldt_s
        else:
            ldt_s = bases.ldt(cursor) if deleted or expiring else None
            ttl_s = bases.ttl(cursor) if expiring else None
        path = cursor.vbytes() if in_complex else None
        if flags & HAS_EMPTY_VALUE:
            value = b""
        else:
            # A complex column's type as a whole has no fixed length, whatever its elements.
            value = cursor.vbytes() if in_complex else self._value(cql_type)
        return Cell(column, path, timestamp_us, ttl_s, ldt_s, None if deleted else value)

    def _subset(self, columns: Columns) -> Columns:
        """Columns of a row (Columns$Serializer#deserializeSubset; §4.9)."""
        offset = self.cursor.offset
        encoded = self.cursor.uvint()
        count = len(columns)
        if encoded == 0:
            return columns
        if count < LARGE_SUBSET:
            if encoded >> count:
                raise MalformedError(offset, f"bitmap {encoded:#x} for {count} columns")
            return tuple(c for i, c in enumerate(columns) if not encoded >> i & 1)
        if encoded > count:
            raise MalformedError(offset, f"{encoded} of {count} columns missing")
        present = count - encoded
        if present < count // 2:
            return tuple(columns[i] for i in self._indices(present, count))
        missing = set(self._indices(encoded, count))
        return tuple(c for i, c in enumerate(columns) if i not in missing)

    def _indices(self, size: int, count: int) -> list[int]:
        """`size` ascending indices below `count`."""
        indices: list[int] = []
        for _ in range(size):
            offset = self.cursor.offset
            index = self.cursor.uvint()
            if index >= count or (indices and index <= indices[-1]):
                raise MalformedError(
                    offset, f"column index {index} after {indices[-1:]} of {count}"
                )
            indices.append(index)
        return indices
