"""Why a row of the live table and of the store differ. Pure.

The live row was read between two moments. The store is complete up to another one, its watermark.
`SELECT` returns no deletions, so what only the store has was deleted, or never reached the replicas
that answered.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Any

from spark_jobs.compare.digests import OLDEST_US, ComparedColumns
from spark_jobs.rebuild.statements import place_in_list

Cell = Mapping[str, Any]
"""`column`, `path`, `ts`, `ldt`, `value`, as `Merger.rows` returns them."""


class Cause(StrEnum):
    """From the worst to the harmless."""

    LOSS = "loss"
    """The store lacks a write that it should have, or the write was never acknowledged."""
    LOST_DELETE = "lost_delete"
    """The store has a value that Cassandra deleted before the watermark."""
    DIFFERENT_VALUE = "different_value"
    """Two values of one write time."""
    TRUNCATE_SUSPECTED = "truncate_suspected"
    """As `LOST_DELETE`, but of all rows up to a write time."""
    NOT_READ = "not_read"
    """The store has a newer value than Cassandra returned: replicas lack a write."""
    NOT_THERE_YET = "not_there_yet"
    """The store is not complete up to the read."""
    WRITTEN_AFTER = "written_after"
    """The store has a write from after the read."""
    EXPIRED = "expired"
    """The value expired before the read."""


SEVERITY: Mapping[Cause, int] = {cause: index for index, cause in enumerate(Cause)}
HARMLESS = frozenset((Cause.WRITTEN_AFTER, Cause.EXPIRED))
_CLOCK_S = 1
"""CQL returns remaining TTLs in whole seconds."""


@dataclass(frozen=True, slots=True)
class ReadTimes:
    """When the live row was read, and up to which time the store is complete; microseconds."""

    from_us: int
    to_us: int
    complete_us: int | None = None

    @property
    def is_settled(self) -> bool:
        """Whether the store has every write that the read may have seen."""
        return self.complete_us is not None and self.complete_us >= self.to_us


@dataclass(frozen=True, slots=True)
class ColumnDifference:
    """A column, or the row itself (`column` is None)."""

    column: str | None
    cause: Cause
    live_us: int | None
    store_us: int | None


def row_differences(
    live: Mapping[str, Any] | None,
    store: Mapping[str, Any] | None,
    times: ReadTimes,
    columns: ComparedColumns,
) -> tuple[ColumnDifference, ...]:
    """The differences of a row: `cells` and `live` on each side, None for a missing row."""
    found = tuple(_cell_differences(_cells(live), _cells(store), times, columns))
    if found or (live is None) == (store is None):
        return found
    if live is not None:
        cause = Cause.LOSS if times.is_settled else Cause.NOT_THERE_YET
        return (ColumnDifference(None, cause, None, None),)
    marker = store["live"] if store is not None else None
    if marker is None:
        return ()
    return (ColumnDifference(None, _only_in_store(marker, times), None, marker["ts"]),)


def worst(differences: Sequence[ColumnDifference]) -> Cause:
    """The worst cause."""
    return min((each.cause for each in differences), key=SEVERITY.__getitem__)


def is_truncation(older_partitions: int) -> bool:
    """Whether lost deletions look like a TRUNCATE: they are of several partitions, and all their
    writes are older than every value in Cassandra."""
    return older_partitions > 1


def _cells(row: Mapping[str, Any] | None) -> Sequence[Cell]:
    return () if row is None else row["cells"]


def _cell_differences(
    live: Sequence[Cell], store: Sequence[Cell], times: ReadTimes, columns: ComparedColumns
) -> Iterator[ColumnDifference]:
    ours, theirs = _by_column(live), _by_column(store)
    for column in sorted(ours.keys() | theirs.keys()):
        of_live, of_store = ours.get(column, ()), theirs.get(column, ())
        if column in columns.lists:
            of_live, of_store = (sorted(each, key=place_in_list) for each in (of_live, of_store))
            pairs = [] if _values(of_live) == _values(of_store) else [_lists(of_live, of_store)]
        else:
            pairs = list(_pairs(of_live, of_store))
        found = [
            ColumnDifference(column, cause, _ts(one), _ts(other))
            for one, other in pairs
            if (cause := _cause(one, other, times, column, columns)) is not None
        ]
        if found:
            yield min(found, key=lambda each: SEVERITY[each.cause])


def _cause(
    live: Cell | None,
    store: Cell | None,
    times: ReadTimes,
    column: str,
    columns: ComparedColumns,
) -> Cause | None:
    """None for equal cells."""
    missing = Cause.LOSS if times.is_settled else Cause.NOT_THERE_YET
    if store is None:
        return missing
    if live is None:
        return _only_in_store(store, times)
    is_single = column in columns.single
    if live["value"] == store["value"] and (not is_single or live["ts"] == store["ts"]):
        return None
    if live["ts"] > store["ts"]:
        return missing
    if store["ts"] >= times.from_us:
        return Cause.WRITTEN_AFTER
    if live["ts"] <= OLDEST_US or column in columns.lists:
        # The removal of an element leaves the write times of the others.
        return missing
    return Cause.DIFFERENT_VALUE if live["ts"] == store["ts"] else Cause.NOT_READ


def _only_in_store(store: Cell, times: ReadTimes) -> Cause:
    if store["ldt"] is not None and store["ldt"] <= times.to_us // 1_000_000 + _CLOCK_S:
        return Cause.EXPIRED
    if store["ts"] >= times.from_us:
        return Cause.WRITTEN_AFTER
    return Cause.LOST_DELETE if times.is_settled else Cause.NOT_THERE_YET


def _lists(live: Sequence[Cell], store: Sequence[Cell]) -> tuple[Cell | None, Cell | None]:
    """Two different lists as one cell each, with the newest write time and the values."""
    return _list_cell(live, 1), _list_cell(store, 0)


def _list_cell(cells: Sequence[Cell], later_us: int) -> Cell | None:
    if not cells:
        return None
    expiries = [cell["ldt"] for cell in cells]
    return {
        # An event of a list that was read is later than its newest element.
        "ts": max(cell["ts"] for cell in cells) - later_us,
        "ldt": None if None in expiries else max(expiries),
        "value": _values(cells),
    }


def _pairs(
    live: Sequence[Cell], store: Sequence[Cell]
) -> Iterator[tuple[Cell | None, Cell | None]]:
    ours = {cell["path"]: cell for cell in live}
    theirs = {cell["path"]: cell for cell in store}
    for path in ours.keys() | theirs.keys():
        yield ours.get(path), theirs.get(path)


def _by_column(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    return {
        name: list(found)
        for name, found in groupby(
            sorted(cells, key=lambda cell: cell["column"]), key=lambda cell: cell["column"]
        )
    }


def _values(cells: Sequence[Cell]) -> list[bytes]:
    return [cell["value"] for cell in cells]


def _ts(cell: Cell | None) -> int | None:
    return None if cell is None or cell["ts"] <= OLDEST_US else int(cell["ts"])
