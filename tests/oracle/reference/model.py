"""The content of a commit log as frozen values.

Timestamps (`timestamp_us`) are signed 64-bit microseconds. Local deletion times (`ldt_s`) are
seconds since 1970: the second of an expiry or of a deletion. TTLs (`ttl_s`) are seconds. All values
and keys are raw bytes (format notes §6).
"""

from dataclasses import dataclass

from tests.oracle.reference.schema import Table

Clustering = tuple[bytes | None, ...]
"""Values of clustering columns in schema order; b"" is an empty value, None a null component."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """Everything at or before `timestamp_us` is deleted (DeletionTime)."""

    timestamp_us: int
    ldt_s: int | None


@dataclass(frozen=True, slots=True)
class Liveness:
    """What an INSERT stores besides its cells (LivenessInfo); an expiring one has all three."""

    timestamp_us: int
    ttl_s: int | None
    ldt_s: int | None


@dataclass(frozen=True, slots=True)
class Cell:
    """One value, or its deletion.

    `path` names the element of a complex column, None in a simple one. `value` is None in a
    tombstone; `ttl_s` is None unless the cell expires; `ldt_s` is None in a plain live cell.
    """

    column: str
    path: bytes | None
    timestamp_us: int
    ttl_s: int | None
    ldt_s: int | None
    value: bytes | None

    @property
    def kind(self) -> str:
        """`live`, `expiring` or `tombstone`."""
        if self.value is None:
            return "tombstone"
        return "live" if self.ttl_s is None else "expiring"


@dataclass(frozen=True, slots=True)
class ComplexDeletion:
    """Deletion of all older elements of a non-frozen collection or user type."""

    column: str
    deletion: Deletion


@dataclass(frozen=True, slots=True)
class Row:
    """A row, or the static row if `clustering` is None. Cells are in the order of the log."""

    clustering: Clustering | None
    liveness: Liveness | None
    deletion: Deletion | None
    shadowable: bool
    complex_deletions: tuple[ComplexDeletion, ...]
    cells: tuple[Cell, ...]

    @property
    def is_empty(self) -> bool:
        """Whether it is empty; Cassandra's reader skips such rows (§4.7)."""
        return not (self.liveness or self.deletion or self.complex_deletions or self.cells)


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a range tombstone, in storage order; `clustering` may be a prefix or empty."""

    kind: str
    clustering: Clustering
    deletion: Deletion


@dataclass(frozen=True, slots=True)
class Boundary:
    """End of a range tombstone and, at the same position, start of the next one."""

    kind: str
    clustering: Clustering
    close: Deletion
    open: Deletion


Item = Row | Bound | Boundary


@dataclass(frozen=True, slots=True)
class PartitionUpdate:
    """Changes of one mutation in one partition of one table; `items` are in storage order.

    `epoch` is that of the table's metadata, which only version 9 contains.
    """

    table: Table
    key: bytes
    deletion: Deletion | None
    static: Row | None
    items: tuple[Item, ...]
    epoch: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it changes nothing."""
        return not (self.deletion or self.static or self.items)


@dataclass(frozen=True, slots=True)
class Update:
    """A partition update and its position.

    `position` is the logical end position of its record, which Cassandra calls entryLocation.
    `index` counts from 0 within the `updates` partition updates of the mutation.
    """

    segment: str
    position: int
    index: int
    updates: int
    partition: PartitionUpdate
