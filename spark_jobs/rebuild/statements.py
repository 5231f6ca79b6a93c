"""Creates CQL statements that write rows exactly, or only their differences.

Each statement is one line and has a write time. So the order of statements matters only for the
elements of a list.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from spark_jobs.rebuild.literal import literal, quoted
from spark_jobs.rebuild.table_layout import CqlType, TableLayout

Cell = Mapping[str, Any]
"""`column`, `path`, `ts` (microseconds), `ldt` (second of expiry), `ttl`, `value`."""
Row = Mapping[str, Any]
"""`pk`, `ck`, `ckv`, `live` (as a cell, or None), `cells`, `statics`."""
_Using = tuple[int, int | None]
"""Write time in microseconds, and TTL."""
_EARLIEST_US = -(1 << 63) + 1
"""CQL rejects the smallest number, which marks values without a write time."""


@dataclass(frozen=True, slots=True)
class StatementWriter:
    """Creates the statements of one table. `at_s` is the second at which TTLs start."""

    layout: TableLayout
    at_s: int

    def load(self, row: Row, *, with_statics: bool) -> Iterator[str]:
        """Statements that write a row into an empty table, with its write times.

        The elements of a list get new time UUIDs, in order, and share one write time.
        """
        if with_statics and row["statics"]:
            yield from self._updates(row["statics"], self.partition(row["pk"]))
        if row["ck"] is None:
            return
        key = self.key(row)
        if row["live"] is not None:
            yield self._insert(key, row["live"]["ts"], self._ttl(row["live"]))
        yield from self._updates(row["cells"], key)

    def undo(self, now: Row | None, then: Row | None, ts_us: int) -> Iterator[str]:
        """Statements that turn the row `now` into the row `then`: deletions and values, with write
        times from one microsecond before `ts_us` on. Static values are ignored."""
        if now is None and then is None:
            return
        key = self.key(now or then or {})
        if then is None:
            yield f"DELETE FROM {self._table} USING TIMESTAMP {ts_us} WHERE {_condition(key)};"
            return
        live, cells = (None, ()) if now is None else (now["live"], now["cells"])
        if then["live"] is not None and _content(then["live"]) != _content(live):
            yield self._insert(key, ts_us, self._ttl(then["live"]))
        yield from self._differences(cells, then["cells"], key, ts_us)

    def undo_statics(
        self, pk: bytes, now: Iterable[Cell], then: Iterable[Cell], ts_us: int
    ) -> Iterator[str]:
        """Like `undo`, for the static columns of a partition."""
        return self._differences(now, then, self.partition(pk), ts_us)

    def _differences(
        self, now: Iterable[Cell], then: Iterable[Cell], key: Mapping[str, str], ts_us: int
    ) -> Iterator[str]:
        before, after = by_column(now), by_column(then)
        for column in sorted(before.keys() | after.keys()):
            old, new = before.get(column, ()), after.get(column, ())
            if list(map(_content, old)) == list(map(_content, new)):
                continue
            of, written_us = self.layout.column(column), ts_us
            if of.name == "list" and of.is_multi_cell:
                # All elements are appended again, so even later elements must be deleted. A rebuild
                # without the undone writes needs this deletion, so its time is at least `ts_us`.
                written_us = max(ts_us, *(cell["ts"] for cell in (*old, *new))) + 1
            if of.is_multi_cell:
                # The values follow one microsecond later, so the deletion does not cover them.
                yield self._delete_column(column, key, written_us - 1)
            elif not new:
                yield self._delete_column(column, key, written_us)
            yield from self._updates([{**cell, "ts": written_us} for cell in new], key)

    def _updates(self, cells: Iterable[Cell], key: Mapping[str, str]) -> Iterator[str]:
        """Yield an UPDATE per write time and TTL, and several for a list with different TTLs."""
        together: dict[_Using, list[str]] = {}
        in_order: list[tuple[_Using, list[str]]] = []
        for column, of_column in by_column(cells).items():
            of = self.layout.column(column)
            is_list = of.name == "list" and of.is_multi_cell
            groups = self._list_groups(of_column) if is_list else self._by_time(of_column)
            parts = [(using, list(_assignments(column, of, group))) for using, group in groups]
            if is_list and len(parts) > 1:
                in_order += parts
                continue
            for using, assignments in parts:
                together.setdefault(using, []).extend(assignments)
        for (ts_us, ttl), assignments in (*together.items(), *in_order):
            yield (
                f"UPDATE {self._table}{_using(ts_us, ttl)} SET {', '.join(assignments)}"
                f" WHERE {_condition(key)};"
            )

    def _by_time(self, cells: Iterable[Cell]) -> Iterable[tuple[_Using, Sequence[Cell]]]:
        """Group the cells of a column by write time and TTL."""
        found: dict[_Using, list[Cell]] = {}
        for cell in cells:
            found.setdefault((cell["ts"], self._ttl(cell)), []).append(cell)
        return found.items()

    def _list_groups(self, cells: Sequence[Cell]) -> Iterator[tuple[_Using, Sequence[Cell]]]:
        """Group adjacent elements of a list that have the same TTL, in list order."""
        latest_us = max(cell["ts"] for cell in cells)
        for ttl, group in groupby(sorted(cells, key=place_in_list), self._ttl):
            yield (latest_us, ttl), list(group)

    def _insert(self, key: Mapping[str, str], ts_us: int, ttl: int | None) -> str:
        return (
            f"INSERT INTO {self._table} ({', '.join(key)}) VALUES ({', '.join(key.values())})"
            f"{_using(ts_us, ttl)};"
        )

    def _delete_column(self, column: str, key: Mapping[str, str], ts_us: int) -> str:
        return (
            f"DELETE {quoted(column)} FROM {self._table} USING TIMESTAMP {ts_us}"
            f" WHERE {_condition(key)};"
        )

    def _ttl(self, cell: Cell) -> int | None:
        """The remaining seconds of a value at `at_s`; None if it does not expire."""
        return None if cell["ttl"] is None else cell["ldt"] - self.at_s

    @property
    def _table(self) -> str:
        return f"{quoted(self.layout.keyspace)}.{quoted(self.layout.name)}"

    def partition(self, pk: bytes) -> dict[str, str]:
        """Literals of the partition key by column."""
        types = self.layout.partition_key
        raw = [pk] if len(types) == 1 else _components(pk)
        return _literals(types, raw)

    def key(self, row: Row) -> dict[str, str]:
        """Literals of the primary key by column."""
        return self.partition(row["pk"]) | _literals(self.layout.clustering, row["ckv"])


def key_condition(layout: TableLayout, row: Row) -> str:
    """The condition of a statement for a row, or for its partition if `ck` is null.

    Raises `ValueError` for a type without literals.
    """
    key = StatementWriter(layout, at_s=0)
    return _condition(key.key(row) if row["ck"] is not None else key.partition(row["pk"]))


def _literals(types: Mapping[str, CqlType], raw: Sequence[bytes]) -> dict[str, str]:
    return {
        quoted(name): literal(of, value)
        for (name, of), value in zip(types.items(), raw, strict=True)
    }


def _components(pk: bytes) -> list[bytes]:
    """Split a composite partition key. Each column is a length, a value and a zero."""
    found, at = [], 0
    while at < len(pk):
        end = at + 2 + int.from_bytes(pk[at : at + 2], "big")
        found.append(pk[at + 2 : end])
        at = end + 1
    return found


def by_column(cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    """Group cells by column, in order."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(cell["column"], []).append(cell)
    return found


def place_in_list(cell: Cell) -> tuple[int, bytes]:
    """A sort key for the time UUIDs of elements (`TimeUUIDType#compareCustom`)."""
    element = uuid.UUID(bytes=cell["path"])
    # The second half is compared as signed bytes.
    return element.time, bytes(byte ^ 0x80 for byte in element.bytes[8:])


def _content(cell: Cell | None) -> tuple[Any, ...] | None:
    """A cell or a liveness without its write time."""
    if cell is None:
        return None
    expiry_s = cell["ldt"] if cell["ttl"] is not None else None
    return cell.get("path"), cell.get("value"), expiry_s


def _assignments(column: str, of: CqlType, cells: Sequence[Cell]) -> Iterator[str]:
    name = quoted(column)
    if not of.is_multi_cell:
        for cell in cells:
            yield f"{name} = {literal(of, cell['value'])}"
        return
    match of.name:
        case "udt":
            for cell in cells:
                field = int.from_bytes(cell["path"], "big")
                value = literal(of.of[field], cell["value"])
                yield f"{name}.{quoted(of.fields[field])} = {value}"
        case "map":
            key, value_type = of.of
            pairs = ", ".join(
                f"{literal(key, cell['path'])}: {literal(value_type, cell['value'])}"
                for cell in cells
            )
            yield f"{name} = {name} + {{{pairs}}}"
        case "set":
            elements = ", ".join(literal(of.of[0], cell["path"]) for cell in cells)
            yield f"{name} = {name} + {{{elements}}}"
        case _:
            elements = ", ".join(literal(of.of[0], cell["value"]) for cell in cells)
            yield f"{name} = {name} + [{elements}]"


def _using(ts_us: int, ttl: int | None) -> str:
    text = f" USING TIMESTAMP {max(ts_us, _EARLIEST_US)}"
    return text if ttl is None else f"{text} AND TTL {ttl}"


def _condition(key: Mapping[str, str]) -> str:
    return " AND ".join(f"{name} = {value}" for name, value in key.items())
