"""Rows, cells and range-tombstone markers as bytes (format notes §4.4 to §4.10)."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.oracle.reference.cql_types import CqlType, fixed_length, is_complex
from tests.oracle.reference.model import Bound, Boundary, Cell, Clustering, Deletion, Liveness, Row
from tests.oracle.reference.rows import (
    BOUND_KINDS,
    BOUNDARY_KINDS,
    CLUSTERING_BATCH,
    EXTENSION,
    HAS_ALL_COLUMNS,
    HAS_COMPLEX_DELETION,
    HAS_DELETION,
    HAS_EMPTY_VALUE,
    HAS_SHADOWABLE_DELETION,
    HAS_TIMESTAMP,
    HAS_TTL,
    IS_DELETED,
    IS_EXPIRING,
    IS_MARKER,
    IS_STATIC,
    LARGE_SUBSET,
    USE_ROW_TIMESTAMP,
    USE_ROW_TTL,
)
from tests.oracle.reference.times import LIVE_TIMESTAMP_US, NO_LDT_FROM_8, NO_LDT_UNTIL_7
from tests.oracle.writer.form import Bases
from tests.oracle.writer.numbers import difference, difference32, uvint, vbytes

NUMBER_OF_KIND = {name: number for number, name in (BOUND_KINDS | BOUNDARY_KINDS).items()}
LIVE = Deletion(LIVE_TIMESTAMP_US, None)


@dataclass(frozen=True, slots=True)
class RowForm:
    """Writes the rows of one update of a table with these clustering types and column types."""

    version: int
    bases: Bases
    clustering: tuple[CqlType, ...]
    columns: dict[str, CqlType]
    shares_times: bool

    def item(self, item: Row | Bound | Boundary, listed: Sequence[str]) -> bytes:
        """One item of an update whose head lists the regular columns `listed`."""
        if isinstance(item, Row):
            return self.row(item, listed)
        size = len(item.clustering).to_bytes(2, "big")
        start = bytes([IS_MARKER, NUMBER_OF_KIND[item.kind]]) + size
        start += self._clustering(item.clustering)
        if isinstance(item, Bound):
            return start + self.deletion(item.deletion)
        return start + self.deletion(item.close) + self.deletion(item.open)

    def row(self, row: Row, listed: Sequence[str]) -> bytes:
        """A row, or the static row when it has no clustering (UnfilteredSerializer#serialize)."""
        present = [name for name in listed if name in columns_of(row)]
        extended = 0
        if row.clustering is None:
            extended |= IS_STATIC
        if row.shadowable:
            extended |= HAS_SHADOWABLE_DELETION
        flags = EXTENSION if extended else 0
        if row.liveness is not None:
            flags |= HAS_TIMESTAMP
            if row.liveness.ttl_s is not None:
                flags |= HAS_TTL
        if row.deletion is not None:
            flags |= HAS_DELETION
        if row.complex_deletions:
            flags |= HAS_COMPLEX_DELETION
        if len(present) == len(listed):
            flags |= HAS_ALL_COLUMNS
        out = bytes([flags, extended] if extended else [flags])
        if row.clustering is not None:
            out += self._clustering(row.clustering)
        if row.liveness is not None:
            out += self._liveness(row.liveness)
        if row.deletion is not None:
            out += self.deletion(row.deletion)
        if len(present) != len(listed):
            out += subset(listed, present)
        return out + b"".join(self._column(row, name) for name in present)

    def deletion(self, deletion: Deletion) -> bytes:
        """Timestamp, then local deletion time (§4.5)."""
        return self._timestamp(deletion.timestamp_us) + self._ldt(deletion.ldt_s)

    def _column(self, row: Row, name: str) -> bytes:
        cells = [cell for cell in row.cells if cell.column == name]
        if not is_complex(self.columns[name]):
            return self._cell(cells[0], row.liveness)
        out = b""
        if row.complex_deletions:
            found = [c.deletion for c in row.complex_deletions if c.column == name]
            out = self.deletion(found[0] if found else LIVE)
        out += uvint(len(cells))
        return out + b"".join(self._cell(cell, row.liveness) for cell in cells)

    def _cell(self, cell: Cell, liveness: Liveness | None) -> bytes:
        """One cell; its local deletion time precedes its TTL (§4.8.2)."""
        flags = 0
        if cell.value is None:
            flags |= IS_DELETED
        elif cell.ttl_s is not None:
            flags |= IS_EXPIRING
        if not cell.value:
            flags |= HAS_EMPTY_VALUE
        if self.shares_times and liveness is not None:
            if cell.timestamp_us == liveness.timestamp_us:
                flags |= USE_ROW_TIMESTAMP
            times = (liveness.ttl_s, liveness.ldt_s)
            if flags & IS_EXPIRING and times == (cell.ttl_s, cell.ldt_s):
                flags |= USE_ROW_TTL
        out = bytes([flags])
        if not flags & USE_ROW_TIMESTAMP:
            out += self._timestamp(cell.timestamp_us)
        if not flags & USE_ROW_TTL:
            if flags & (IS_DELETED | IS_EXPIRING):
                out += self._ldt(cell.ldt_s)
            if flags & IS_EXPIRING:
                out += self._ttl(cell.ttl_s or 0)
        if cell.path is not None:
            out += vbytes(cell.path)
        if cell.value:
            in_complex = cell.path is not None
            out += vbytes(cell.value) if in_complex else value(cell.value, self._type(cell))
        return out

    def _type(self, cell: Cell) -> CqlType:
        return self.columns[cell.column]

    def _liveness(self, liveness: Liveness) -> bytes:
        out = self._timestamp(liveness.timestamp_us)
        if liveness.ttl_s is not None:
            out += self._ttl(liveness.ttl_s) + self._ldt(liveness.ldt_s)
        return out

    def _timestamp(self, timestamp_us: int) -> bytes:
        return difference(timestamp_us - self.bases.timestamp_us)

    def _ttl(self, ttl_s: int) -> bytes:
        return difference32(ttl_s - self.bases.ttl_s)

    def _ldt(self, ldt_s: int | None) -> bytes:
        if ldt_s is None:
            ldt_s = NO_LDT_FROM_8 if self.version >= 8 else NO_LDT_UNTIL_7
        return difference32(ldt_s - self.bases.ldt_s)

    def _clustering(self, values: Clustering) -> bytes:
        """Up to 32 values after a header with two bits for each (§4.8.1)."""
        out = b""
        for start in range(0, len(values), CLUSTERING_BATCH):
            batch = values[start : start + CLUSTERING_BATCH]
            header = 0
            for i, clustering in enumerate(batch):
                if clustering is None:
                    header |= 2 << 2 * i
                elif not clustering:
                    header |= 1 << 2 * i
            out += uvint(header)
            for clustering, cql_type in zip(batch, self.clustering[start:], strict=False):
                if clustering:
                    out += value(clustering, cql_type)
        return out


def value(data: bytes, cql_type: CqlType) -> bytes:
    """A clustering value or the value of a simple cell, without a prefix if its length is fixed
    (§6.1)."""
    return vbytes(data) if fixed_length(cql_type) is None else data


def subset(listed: Sequence[str], present: Sequence[str]) -> bytes:
    """Which of the listed columns a row has (Columns$Serializer#serializeSubset; §4.9)."""
    missing = [i for i, name in enumerate(listed) if name not in present]
    if len(listed) < LARGE_SUBSET:
        return uvint(sum(1 << i for i in missing))
    chosen = missing
    if len(present) < len(listed) // 2:
        chosen = [i for i, name in enumerate(listed) if name in present]
    return uvint(len(missing)) + b"".join(uvint(i) for i in chosen)


def columns_of(row: Row) -> set[str]:
    """Columns that a row contains."""
    return {cell.column for cell in row.cells} | {c.column for c in row.complex_deletions}
