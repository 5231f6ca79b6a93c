"""Comparison of merged tables with `SELECT *`."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cassandra.cluster import EXEC_PROFILE_DEFAULT
from cassandra.query import dict_factory

from tests.oracle.algebra.table import Table
from tests.oracle.algebra.tables import Tables
from tests.oracle.merge.typed import Columns, columns_of, plain, plain_clustering, typed_rows

_MAX_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Selected:
    """The result of `SELECT *`: rows in order, columns, and its possible seconds."""

    columns: Columns
    rows: list[dict[str, Any]]
    seconds: range


@dataclass(frozen=True, slots=True)
class Comparison:
    """All tables of a node: their number, their rows, and differences as `table: line`."""

    tables: int
    rows: int
    differences: tuple[str, ...]


def compare(session: Any, tables: Tables, keyspaces: Iterable[str]) -> Comparison:
    """Compare every CDC table without counters in the keyspaces."""
    counted, rows = 0, 0
    lines: list[str] = []
    for keyspace in keyspaces:
        for name, table_id in _cdc_tables(session, keyspace):
            selected = select_all(session, keyspace, name)
            counted += 1
            rows += len(selected.rows)
            found = differences(tables.of(table_id), selected)
            lines += [f"{keyspace}.{name}: {line}" for line in found]
    return Comparison(counted, rows, tuple(lines))


def select_all(session: Any, keyspace: str, table: str) -> Selected:
    """Query the node."""
    profile = session.execution_profile_clone_update(EXEC_PROFILE_DEFAULT, row_factory=dict_factory)
    first_s = int(time.time())
    result = session.execute(f'SELECT * FROM "{keyspace}"."{table}"', execution_profile=profile)
    rows = list(result)
    seconds = range(first_s, int(time.time()) + 1)
    names, types = result.column_names, result.column_types
    session.cluster.refresh_table_metadata(keyspace, table)
    metadata = session.cluster.metadata.keyspaces[keyspace].tables[table]
    return Selected(columns_of(metadata, names, types), rows, seconds)


def differences(table: Table, selected: Selected) -> list[str]:
    """Differences, one per line, including the order of rows; empty if merging yields the table.
    Rows may expire while the node answers, so the second with the fewest differences counts."""
    return min((_differences(table, selected, now_s) for now_s in selected.seconds), key=len)


def _differences(table: Table, selected: Selected, now_s: int) -> list[str]:
    merged = typed_rows(table, selected.columns, now_s)
    columns = selected.columns
    if [_cells(row, columns) for row in merged] == [_cells(row, columns) for row in selected.rows]:
        return []
    ours = {_key(row, columns): row for row in merged}
    theirs = {_key(row, columns): row for row in selected.rows}
    lines = [
        f"{_shown(ours[key], columns)} is merged, not selected" for key in ours - theirs.keys()
    ]
    lines += [
        f"{_shown(theirs[key], columns)} is selected, not merged" for key in theirs - ours.keys()
    ]
    for key in ours.keys() & theirs.keys():
        ours_plain, theirs_plain = _cells(ours[key], columns), _cells(theirs[key], columns)
        lines += [
            f"{_shown(ours[key], columns)}: {name} is {ours[key][name]!r} merged, "
            f"{theirs[key][name]!r} selected"
            for name in theirs[key]
            if ours_plain[name] != theirs_plain[name]
        ]
    if not lines:
        lines = ["the rows are equal and their order differs"]
    return lines


def summary(lines: Iterable[str]) -> str:
    """The first differences, for an error message."""
    shown = list(lines)
    rest = len(shown) - _MAX_SHOWN
    return "\n".join(shown[:_MAX_SHOWN] + ([f"… and {rest} more"] if rest > 0 else []))


def _cdc_tables(session: Any, keyspace: str) -> list[tuple[str, str]]:
    """The names and ids of tables."""
    rows = session.execute(
        "SELECT table_name, id, cdc, flags FROM system_schema.tables WHERE keyspace_name = %s",
        (keyspace,),
    )
    return [
        (row.table_name, str(row.id))
        for row in rows
        if row.cdc and "counter" not in (row.flags or ())
    ]


def _cells(row: Mapping[str, Any], columns: Columns) -> dict[str, Any]:
    clustering = {column.name for column in columns.clustering}
    return {
        name: plain_clustering(value) if name in clustering else plain(value)
        for name, value in row.items()
    }


def _key(row: Mapping[str, Any], columns: Columns) -> tuple[Any, ...]:
    return (
        *(plain(row[column.name]) for column in columns.partition_key),
        *(plain_clustering(row[column.name]) for column in columns.clustering),
    )


def _shown(row: Mapping[str, Any], columns: Columns) -> str:
    key = (*columns.partition_key, *columns.clustering)
    return "row (" + ", ".join(f"{each.name}={row[each.name]!r}" for each in key) + ")"
