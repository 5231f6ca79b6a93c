"""Merged events of one table, with the rows of `SELECT *`.

A table stores every write and deletion. It applies deletions when rows are read, because an older
write may arrive after the deletion that covers it.
"""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tests.oracle.algebra.cell import (
    Cell,
    Deletion,
    Liveness,
    State,
    read_cell,
    read_deletion,
    read_liveness,
)
from tests.oracle.algebra.counter import Counter, read_shards

_Ordered = TypeVar("_Ordered", int, Deletion)

RowKey = tuple[bytes, bytes | None]
"""Raw partition key and byte-comparable clustering (None: the partition has only static data)."""
Elements = tuple[tuple[bytes, bytes], ...]
"""Path and value of each live element of a non-frozen collection or user type, by path."""
Value = bytes | Elements
Row = dict[str, Value]
"""Live values by column, without null columns. Counters are eight bytes, as in CQL."""


@dataclass(slots=True)
class _StoredRow:
    liveness: Liveness | None = None
    deletion: Deletion | None = None
    complex_deletions: dict[str, Deletion] = field(default_factory=dict)
    # By column and by the common part of equal elements.
    cells: dict[tuple[str, bytes | None], Cell] = field(default_factory=dict)
    counters: dict[str, Counter] = field(default_factory=dict)
    clustering: tuple[bytes | None, ...] = ()


@dataclass(slots=True)
class _Partition:
    token: int
    deletion: Deletion | None = None
    static: _StoredRow = field(default_factory=_StoredRow)
    rows: dict[bytes, _StoredRow] = field(default_factory=dict)
    ranges: set[tuple[bytes, bytes, Deletion]] = field(default_factory=set)


class Table:
    """One table, identified by its id. `has_counters`: its cells are counters."""

    def __init__(self, *, has_counters: bool = False) -> None:
        self._has_counters = has_counters
        self._partitions: dict[bytes, _Partition] = {}
        self._truncated_to_us: int | None = None
        self._dropped_to_us: dict[str, int] = {}

    def truncate(self, ts_us: int) -> None:
        """Delete all writes up to a time. The commit log does not contain a TRUNCATE."""
        self._truncated_to_us = _later(self._truncated_to_us, ts_us)

    def drop(self, column: str, ts_us: int) -> None:
        """Drop a column. Its cells up to this time are not visible."""
        self._dropped_to_us[column] = _later(self._dropped_to_us.get(column), ts_us)

    def apply(self, value: Mapping[str, Any]) -> None:
        """Merge the value of an event (its `cells`), in any order and any number of times."""
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
                self._write(partition.static, cells)
            case "row":
                row = partition.rows.setdefault(b64decode(cells["ck"], validate=True), _StoredRow())
                clustering = tuple(
                    None if raw is None else b64decode(raw, validate=True) for raw in cells["ckv"]
                )
                # Equal keys may differ in bytes (1.0 and 1.00); any of them is valid.
                row.clustering = min(row.clustering or clustering, clustering, key=repr)
                self._write(row, cells)
            case kind:
                raise ValueError(f"an event of the unknown kind {kind!r}")

    def purge(self, before_s: int) -> None:
        """Drop deletions and expired values from before a second, and all that deletions cover."""
        for partition in self._partitions.values():
            for ck, row in partition.rows.items():
                _purge(row, self._deleted_to_us(partition, ck), before_s)
            _purge(partition.static, self._deleted_to_us(partition), before_s)
            partition.deletion = _unpurged(partition.deletion, before_s)
            partition.ranges = {each for each in partition.ranges if _unpurged(each[2], before_s)}

    def rows(self, now_s: int) -> dict[RowKey, Row]:
        """The rows of `SELECT *` at this second, in its order, each with static values."""
        shown: dict[RowKey, Row] = {}
        for key, partition in sorted(
            self._partitions.items(), key=lambda item: (item[1].token, item[0])
        ):
            deleted_to_us = self._deleted_to_us(partition)
            static = self._values(partition.static, deleted_to_us, now_s)
            found: dict[RowKey, Row] = {
                (key, ck): row | static
                for ck, stored in sorted(partition.rows.items())
                if (row := self._row(stored, self._deleted_to_us(partition, ck), now_s)) is not None
            }
            if not found and static:
                found = {(key, None): static}
            shown |= found
        return shown

    def clustering(self, key: RowKey) -> tuple[bytes | None, ...]:
        """The raw clustering values of a row; empty for a row with only static data."""
        partition_key, ck = key
        return () if ck is None else self._partitions[partition_key].rows[ck].clustering

    def _write(self, row: _StoredRow, cells: Mapping[str, Any]) -> None:
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
            cell = read_cell(member)
            if self._has_counters:
                counter = row.counters.setdefault(member["col"], Counter())
                if cell.state is State.TOMBSTONE:
                    counter.is_deleted = True
                else:
                    counter.add(read_shards(cell.value, cell.ts_us))
                continue
            key = b64decode(member["key"], validate=True) if "key" in member else cell.path
            place = member["col"], key
            row.cells[place] = max(row.cells.get(place, cell), cell)

    def _deleted_to_us(self, partition: _Partition, ck: bytes | None = None) -> int | None:
        """The latest write time that a deletion of a whole row covers, or of the static row."""
        deletions = [partition.deletion]
        if ck is not None:
            deletions += [each for low, high, each in partition.ranges if low <= ck < high]
            deletions.append(partition.rows[ck].deletion)
        times_us = [each.ts_us for each in deletions if each is not None]
        if self._truncated_to_us is not None:
            times_us.append(self._truncated_to_us)
        return max(times_us, default=None)

    def _row(self, stored: _StoredRow, deleted_to_us: int | None, now_s: int) -> Row | None:
        """The live values of a row; None if the row is not visible."""
        values = self._values(stored, deleted_to_us, now_s)
        liveness = stored.liveness
        is_live = (
            liveness is not None
            and liveness.is_live(now_s)
            and not _covers(deleted_to_us, liveness.ts_us)
        )
        return values if values or is_live else None

    def _values(self, stored: _StoredRow, deleted_to_us: int | None, now_s: int) -> Row:
        values: dict[str, Value] = {}
        elements: dict[str, dict[bytes, bytes]] = {}
        for (column, _), cell in stored.cells.items():
            complex_deletion = stored.complex_deletions.get(column)
            if (
                not cell.is_live(now_s)
                or _covers(deleted_to_us, cell.ts_us)
                or _covers(self._dropped_to_us.get(column), cell.ts_us)
                or (complex_deletion is not None and complex_deletion.covers(cell.ts_us))
            ):
                continue
            if cell.path is None:
                values[column] = cell.value
            else:
                elements.setdefault(column, {})[cell.path] = cell.value
        for column, counter in stored.counters.items():
            number = counter.value(_latest(deleted_to_us, self._dropped_to_us.get(column)))
            if number is not None:
                values[column] = number.to_bytes(8, "big", signed=True)
        return values | {column: tuple(sorted(paths.items())) for column, paths in elements.items()}


def _purge(row: _StoredRow, deleted_to_us: int | None, before_s: int) -> None:
    """Drop what no longer affects a read of a row without counters."""

    def is_old(version: Cell | Liveness) -> bool:
        has_ended = isinstance(version, Cell) and version.state is State.TOMBSTONE
        return (has_ended or version.ttl_s != 0) and version.ldt_s < before_s

    row.cells = {
        place: cell
        for place, cell in row.cells.items()
        if not _covers(deleted_to_us, cell.ts_us)
        and not (
            place[0] in row.complex_deletions and row.complex_deletions[place[0]].covers(cell.ts_us)
        )
        and not is_old(cell)
    }
    if row.liveness is not None and (
        _covers(deleted_to_us, row.liveness.ts_us) or is_old(row.liveness)
    ):
        row.liveness = None
    row.deletion = _unpurged(row.deletion, before_s)
    row.complex_deletions = {
        column: deletion
        for column, deletion in row.complex_deletions.items()
        if _unpurged(deletion, before_s)
    }


def _unpurged(deletion: Deletion | None, before_s: int) -> Deletion | None:
    return None if deletion is None or deletion.ldt_s < before_s else deletion


def _later(left: _Ordered | None, right: _Ordered) -> _Ordered:
    return right if left is None else max(left, right)


def _latest(left_us: int | None, right_us: int | None) -> int | None:
    return left_us if right_us is None else _later(left_us, right_us)


def _covers(deleted_to_us: int | None, ts_us: int) -> bool:
    return deleted_to_us is not None and ts_us <= deleted_to_us
