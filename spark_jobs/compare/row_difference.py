"""Explains why a row differs between the live table and the store. Pure.

The start and end of the live read are known. The store is complete up to its watermark. `SELECT`
returns no deletions, so a value found only in the store was deleted, or never reached the replicas
that answered.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from spark_jobs.compare.digests import OLDEST_US, ComparedColumns
from spark_jobs.rebuild.statements import Cell, by_column, place_in_list

_CLOCK_S = 1
"""CQL returns remaining TTLs in whole seconds."""


class CauseOfDifference(StrEnum):
    """Causes of differences, from the worst to the harmless. The report shows `meaning`."""

    meaning: str

    def __new__(cls, name: str, meaning: str) -> Self:
        cause = str.__new__(cls, name)
        cause._value_ = name
        cause.meaning = meaning
        return cause

    @classmethod
    def by_name(cls) -> "dict[str, CauseOfDifference]":
        return {cause.value: cause for cause in cls}

    @property
    def severity(self) -> int:
        """The rank of the cause; smaller is worse."""
        return list(type(self)).index(self)


class Cause(CauseOfDifference):
    """Why the live table and the store differ."""

    LOSS = (
        "loss",
        "The store lacks a write that it should contain, or one that was never acknowledged.",
    )
    LOST_DELETE = "lost_delete", "The store has a value that Cassandra deleted."
    DIFFERENT_VALUE = (
        "different_value",
        "Both have a value with the same write time, but the values differ.",
    )
    TRUNCATE_SUSPECTED = (
        "truncate_suspected",
        "Only the store has these rows, and they are older than every value in Cassandra. Record "
        "the TRUNCATE with spark_jobs.reconcile.truncate.",
    )
    NOT_READ = (
        "not_read",
        "The store has a newer value than Cassandra returned. Repair the table, or read at ALL.",
    )
    NOT_THERE_YET = (
        "not_there_yet",
        "The store is not complete up to the read. Run the command again later.",
    )
    WRITTEN_AFTER = "written_after", "The write is newer than the read."
    EXPIRED = "expired", "The value expired before the read."


@dataclass(frozen=True, slots=True)
class ReadTimes:
    """When the live row was read, and how far the store is complete, in microseconds."""

    from_us: int
    to_us: int
    complete_us: int | None = None

    @property
    def is_settled(self) -> bool:
        """Whether the store contains every write that the read may have seen."""
        return self.complete_us is not None and self.complete_us >= self.to_us


@dataclass(frozen=True, slots=True)
class ColumnDifference:
    """The difference of a column, or of the row itself if `column` is None."""

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
    """The differences of a row. Each side has `cells` and `live`, or is None if it is missing."""
    ours, theirs = (() if row is None else row["cells"] for row in (live, store))
    found = tuple(_cell_differences(ours, theirs, times, columns))
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
    return min((each.cause for each in differences), key=lambda cause: cause.severity)


def is_truncation(older_partitions: int) -> bool:
    """Whether lost deletions look like a TRUNCATE: they affect several partitions, in which all
    writes are older than every value in Cassandra."""
    return older_partitions > 1


def _cell_differences(
    live: Sequence[Cell], store: Sequence[Cell], times: ReadTimes, columns: ComparedColumns
) -> Iterator[ColumnDifference]:
    ours, theirs = by_column(live), by_column(store)
    for column in sorted(ours.keys() | theirs.keys()):
        of_live, of_store = ours.get(column, ()), theirs.get(column, ())
        if column in columns.lists:
            of_live, of_store = (sorted(each, key=place_in_list) for each in (of_live, of_store))
            is_equal = _values(of_live) == _values(of_store)
            # The snapshot encoder dates a list one microsecond after its newest element.
            pairs = [] if is_equal else [(_as_cell(of_live, 1), _as_cell(of_store, 0))]
        else:
            pairs = list(_pairs(of_live, of_store))
        found = [
            ColumnDifference(column, cause, _ts(one), _ts(other))
            for one, other in pairs
            if (cause := _cause(one, other, times, column, columns)) is not None
        ]
        if found:
            yield min(found, key=lambda each: each.cause.severity)


def _cause(
    live: Cell | None,
    store: Cell | None,
    times: ReadTimes,
    column: str,
    columns: ComparedColumns,
) -> Cause | None:
    """The cause of a difference between two cells; None for equal cells."""
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
        # Removing an element does not change the write times of the others.
        return missing
    return Cause.DIFFERENT_VALUE if live["ts"] == store["ts"] else Cause.NOT_READ


def _only_in_store(store: Cell, times: ReadTimes) -> Cause:
    if store["ldt"] is not None and store["ldt"] <= times.to_us // 1_000_000 + _CLOCK_S:
        return Cause.EXPIRED
    if store["ts"] >= times.from_us:
        return Cause.WRITTEN_AFTER
    return Cause.LOST_DELETE if times.is_settled else Cause.NOT_THERE_YET


def _as_cell(cells: Sequence[Cell], later_us: int) -> Cell | None:
    """Convert a list to one cell with all values and its newest write time minus `later_us`."""
    if not cells:
        return None
    expiries = [cell["ldt"] for cell in cells]
    return {
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


def _values(cells: Sequence[Cell]) -> list[bytes]:
    return [cell["value"] for cell in cells]


def _ts(cell: Cell | None) -> int | None:
    return None if cell is None or cell["ts"] <= OLDEST_US else int(cell["ts"])
