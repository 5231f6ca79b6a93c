"""Compares the tables of reconcile with Cassandra's `SELECT *`.

Twice: cell by cell in raw bytes with write times and TTLs, as `visible` yields rows, and typed, as
in the view. One line per difference.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import Row as SparkRow

from tests.integration.spark.golden.selected import Row, Selected, elements
from tests.oracle.merge.typed import PROTOCOL_VERSION, plain_clustering, time_uuid_order
from tests.support.events.driver_values import CALENDAR_DAYS, driver_value, moment
from tests.support.events.exact_values import exact
from tests.support.workloads.cql_types import CqlType

Cell = tuple[int | None, int | None, bytes | None]
"""Write time, second of expiry, value."""
Key = tuple[Any, ...]
"""Raw values of the partition key; of the clustering, values of which equal ones mean the same
row."""
Cells = Mapping[str, Any]
"""By column: a cell, or for a multi-cell column the cells of its elements by path, for a list in
order."""


def wrong_cells(selected: Selected, shown: Sequence[SparkRow]) -> list[str]:
    """Compare rows of `visible_rows` with the cluster. One second must explain all TTLs."""
    ours = {_raw_key(selected, row): _shown_cells(selected, row) for row in shown}
    twice = [f"{selected.name}: a row comes twice"] * (len(shown) - len(ours))
    return twice + min((_differences(selected, ours, now_s) for now_s in selected.seconds), key=len)


def wrong_values(selected: Selected, view: DataFrame) -> Iterator[str]:
    """Compare rows of the typed view with the cluster."""
    types = {
        column.name: cql_type_of(column.cql_type)
        for column in (
            *selected.columns.partition_key,
            *selected.columns.clustering,
            *selected.columns.others,
        )
    }
    arrow = view.toArrow()
    if set(arrow.column_names) != types.keys():
        yield f"{selected.name}: the view has the columns {arrow.column_names}"
        return
    clustering = {column.name for column in selected.columns.clustering}

    def line(row: Mapping[str, Any]) -> str:
        return repr(
            [
                exact(_numbers(types[name], value) if name in clustering else value)
                for name, value in row.items()
            ]
        )

    ours = Counter(
        line({name: value_of(arrow[name][at]) for name in types}) for at in range(len(arrow))
    )
    theirs = Counter(
        line({name: driver_value(of, row.values[name]) for name, of in types.items()})
        for row in selected.rows
    )
    for row in (theirs - ours).elements():
        yield f"{selected.name}: {row} is selected and not in the view"
    for row in (ours - theirs).elements():
        yield f"{selected.name}: {row} is in the view and not selected"


def cell_count(selected: Selected) -> int:
    """The number of compared values and elements."""
    return sum(
        len(list(elements(column.cql_type, value))) if column.name in selected.cell_by_cell else 1
        for row in selected.rows
        for column in selected.columns.others
        if (value := row.values[column.name]) is not None
    )


def cql_type_of(cql_type: Any) -> CqlType:
    """Plain type of a class of the driver. Frozen types have the same values."""
    name = cql_type.typename
    if name in ("list", "set", "map", "tuple"):
        return CqlType(name, tuple(map(cql_type_of, cql_type.subtypes)))
    if hasattr(cql_type, "vector_size"):
        return CqlType("vector", (cql_type_of(cql_type.subtype),), dimension=cql_type.vector_size)
    if hasattr(cql_type, "fieldnames") and cql_type.fieldnames:
        fields = tuple(cql_type.fieldnames)
        return CqlType(name, tuple(map(cql_type_of, cql_type.subtypes)), fields)
    return CqlType({"varchar": "text", "counter": "bigint"}.get(name, name))


def value_of(scalar: Any) -> Any:
    """Arrow value in Python; days outside its calendar as numbers."""
    match scalar:
        case pa.Date32Scalar() if scalar.is_valid and scalar.value not in CALENDAR_DAYS:
            return scalar.value
        case pa.TimestampScalar() if scalar.is_valid:
            # Columns are in microseconds.
            return moment(scalar.value // 1000)
        case pa.StructScalar() if scalar.is_valid:
            return {name: value_of(scalar[name]) for name in scalar.type.names}
        case pa.MapScalar() if scalar.is_valid:
            return [(value_of(each[0]), value_of(each[1])) for each in scalar.values]
        case pa.ListScalar() if scalar.is_valid:
            return [value_of(each) for each in scalar.values]
    return scalar.as_py()


def _numbers(cql_type: CqlType, shown: Any) -> Any:
    """A clustering value with normalized decimals, because 1.0 and 1.00 identify one row."""
    of = cql_type.of
    match shown:
        case str() if cql_type.name == "decimal":
            return Fraction(shown)
        case list() if cql_type.name == "map":
            entries = (each.values() if isinstance(each, dict) else each for each in shown)
            return [tuple(map(_numbers, of, entry)) for entry in entries]
        case list():
            return [_numbers(of[0], value) for value in shown]
        case dict() if of:
            return {
                name: _numbers(*each) for name, *each in zip(shown, of, shown.values(), strict=True)
            }
    return shown


def _differences(selected: Selected, ours: Mapping[Key, Cells], now_s: int) -> list[str]:
    theirs = {
        _selected_key(selected, row): _selected_cells(selected, row, now_s) for row in selected.rows
    }
    found = [f"row {key} is selected and not shown" for key in theirs.keys() - ours.keys()]
    found += [f"row {key} is shown and not selected" for key in ours.keys() - theirs.keys()]
    found += [
        f"row {key}, {column} is {ours[key][column]} here and {cells} there"
        for key in ours.keys() & theirs.keys()
        for column, cells in theirs[key].items()
        if ours[key][column] != cells
    ]
    return [f"{selected.name}: {line}" for line in found]


def _selected_key(selected: Selected, row: Row) -> Key:
    columns = selected.columns
    return (
        *(row.values[column.name] for column in columns.partition_key),
        *_clustering(selected, [row.values[column.name] for column in columns.clustering]),
    )


def _raw_key(selected: Selected, row: SparkRow) -> Key:
    count = len(selected.columns.partition_key)
    pk = bytes(row["pk"])
    clustering: list[bytes | None] = [None] * len(selected.columns.clustering)
    if row["ck"] is not None:
        clustering = [None if each is None else bytes(each) for each in row["ckv"]]
    return (*(_parts(pk) if count > 1 else [pk]), *_clustering(selected, clustering))


def _clustering(selected: Selected, raw: Sequence[bytes | None]) -> Iterator[Any]:
    for column, value in zip(selected.columns.clustering, raw, strict=True):
        yield plain_clustering(column.cql_type.from_binary(value, PROTOCOL_VERSION))


def _parts(pk: bytes) -> Iterator[bytes]:
    """The components of a composite partition key."""
    while pk:
        length = int.from_bytes(pk[:2])
        yield pk[2 : 2 + length]
        pk = pk[3 + length :]


def _selected_cells(selected: Selected, row: Row, now_s: int) -> Cells:
    found: dict[str, Any] = {}
    for column in selected.columns.others:
        value = row.values[column.name]
        times, left = row.write_us.get(column.name), row.ttl_s.get(column.name)
        if value is None:
            found[column.name] = None
        elif column.name not in selected.cell_by_cell:
            found[column.name] = _cell(times, left, value, now_s)
        else:
            assert isinstance(times, list)
            lefts = left if isinstance(left, list) else [None] * len(times)
            pairs = zip(elements(column.cql_type, value), times, lefts, strict=True)
            cells = [
                (path, _cell(ts, ttl, of_element, now_s))
                for (path, of_element), ts, ttl in pairs
                if of_element is not None
            ]
            is_list = column.cql_type.typename == "list"
            found[column.name] = [cell for _, cell in cells] if is_list else dict(cells)
    return found


def _cell(ts: Any, left: Any, value: bytes | None, now_s: int) -> Cell:
    return ts, None if left is None else now_s + left, value


def _shown_cells(selected: Selected, row: SparkRow) -> Cells:
    by_column: dict[str, list[SparkRow]] = {}
    for cell in (*row["cells"], *row["statics"]):
        by_column.setdefault(cell["column"], []).append(cell)
    found: dict[str, Any] = {}
    for column in selected.columns.others:
        cells = by_column.pop(column.name, [])
        if not cells:
            found[column.name] = None
        elif column.name not in selected.cell_by_cell:
            (cell,) = cells
            found[column.name] = _shown(selected, cell)
        elif column.cql_type.typename == "list":
            cells.sort(key=lambda cell: time_uuid_order(bytes(cell["path"])))
            found[column.name] = [_shown(selected, cell) for cell in cells]
        else:
            found[column.name] = {bytes(cell["path"]): _shown(selected, cell) for cell in cells}
    assert not by_column, by_column
    return found


def _shown(selected: Selected, cell: SparkRow) -> Cell:
    value = bytes(cell["value"])
    if selected.has_counters:
        return None, None, value
    return cell["ts"], None if cell["ttl"] is None else cell["ldt"], value
