"""Events of one table, merged; read as `SELECT *` reads it.

Every write and every deletion is kept, and deletions are applied when rows are read: an older
write may come after the deletion that covers it.
"""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.merge.cells import Cell, Deletion, Liveness, read_cell, read_deletion, read_liveness

RowKey = tuple[bytes, bytes | None]
"""Raw partition key and byte-comparable clustering (None: the partition has static data alone)."""
Elements = tuple[tuple[bytes, bytes], ...]
"""Path and value of each live element of a non-frozen collection or user type, by path."""
Value = bytes | Elements
Row = dict[str, Value]
"""Live values by column; a column without one is absent."""


@dataclass(slots=True)
class _StoredRow:
    liveness: Liveness | None = None
    deletion: Deletion | None = None
    complex_deletions: dict[str, Deletion] = field(default_factory=dict)
    cells: dict[tuple[str, bytes | None], Cell] = field(default_factory=dict)
    clustering: tuple[bytes | None, ...] = ()


@dataclass(slots=True)
class _Partition:
    token: int
    deletion: Deletion | None = None
    static: _StoredRow = field(default_factory=_StoredRow)
    rows: dict[bytes, _StoredRow] = field(default_factory=dict)
    ranges: set[tuple[bytes, bytes, Deletion]] = field(default_factory=set)


class Table:
    """One table, told apart by its id."""

    def __init__(self) -> None:
        self._partitions: dict[bytes, _Partition] = {}

    def apply(self, value: Mapping[str, Any]) -> None:
        """Take in the value of an event (its `cells`); in any order and any number of times."""
        cells = value["cells"]
        key = b64decode(cells["pk"], validate=True)
        partition = self._partitions.setdefault(key, _Partition(cells["token"]))
        match cells["kind"]:
            case "partition":
                partition.deletion = _later(partition.deletion, read_deletion(cells["del"]))
            case "range":
                low, high = (b64decode(cells[side], validate=True) for side in ("lo", "hi"))
                partition.ranges.add((low, high, read_deletion(cells["del"])))
            case "static":
                _write(partition.static, cells)
            case "row":
                row = partition.rows.setdefault(b64decode(cells["ck"], validate=True), _StoredRow())
                clustering = tuple(
                    None if raw is None else b64decode(raw, validate=True) for raw in cells["ckv"]
                )
                # Keys that compare equal may differ in bytes (1.0 and 1.00); any one may stand.
                row.clustering = min(row.clustering or clustering, clustering, key=repr)
                _write(row, cells)
            case kind:
                raise ValueError(f"an event of the unknown kind {kind!r}")

    def rows(self, now_s: int) -> dict[RowKey, Row]:
        """The rows that `SELECT *` shows at this second, in its order; static values in each."""
        shown: dict[RowKey, Row] = {}
        for key, partition in sorted(
            self._partitions.items(), key=lambda item: (item[1].token, item[0])
        ):
            static = _values(partition.static, partition.deletion, now_s)
            found: dict[RowKey, Row] = {
                (key, ck): row | static
                for ck, stored in sorted(partition.rows.items())
                if (row := _row(stored, _deletion_of(partition, ck, stored), now_s)) is not None
            }
            if not found and static:
                found = {(key, None): static}
            shown |= found
        return shown

    def clustering(self, key: RowKey) -> tuple[bytes | None, ...]:
        """The raw clustering values of a row; none for a row of static data alone."""
        partition_key, ck = key
        return () if ck is None else self._partitions[partition_key].rows[ck].clustering


def _later(left: Deletion | None, right: Deletion) -> Deletion:
    return right if left is None else max(left, right)


def _write(row: _StoredRow, cells: Mapping[str, Any]) -> None:
    if "live" in cells:
        liveness = read_liveness(cells["live"])
        row.liveness = liveness if row.liveness is None else max(row.liveness, liveness)
    if "del" in cells:
        row.deletion = _later(row.deletion, read_deletion(cells["del"]))
    for member in cells.get("cdel", ()):
        column = member["col"]
        row.complex_deletions[column] = _later(
            row.complex_deletions.get(column), read_deletion(member)
        )
    for member in cells.get("cell", ()):
        path = b64decode(member["path"], validate=True) if "path" in member else None
        place = member["col"], path
        cell = read_cell(member)
        row.cells[place] = max(row.cells.get(place, cell), cell)


def _deletion_of(partition: _Partition, ck: bytes, row: _StoredRow) -> Deletion | None:
    """The latest deletion that covers the row as a whole."""
    deletions = [deletion for low, high, deletion in partition.ranges if low <= ck < high]
    deletions += [each for each in (partition.deletion, row.deletion) if each is not None]
    return max(deletions, default=None)


def _row(stored: _StoredRow, deletion: Deletion | None, now_s: int) -> Row | None:
    """Its live values; None when nothing says that the row is there."""
    values = _values(stored, deletion, now_s)
    liveness = stored.liveness
    is_live = (
        liveness is not None
        and liveness.is_live(now_s)
        and not (deletion is not None and deletion.covers(liveness.ts_us))
    )
    return values if values or is_live else None


def _values(stored: _StoredRow, deletion: Deletion | None, now_s: int) -> Row:
    values: dict[str, Value] = {}
    elements: dict[str, dict[bytes, bytes]] = {}
    for (column, path), cell in stored.cells.items():
        covering = (deletion, stored.complex_deletions.get(column))
        if not cell.is_live(now_s) or any(each and each.covers(cell.ts_us) for each in covering):
            continue
        if path is None:
            values[column] = cell.value
        else:
            elements.setdefault(column, {})[path] = cell.value
    return values | {column: tuple(sorted(paths.items())) for column, paths in elements.items()}
