"""Updates in a canonical form, in which all readers of segments are comparable.

One JSON object for each partition update: numbers as they are, bytes as hex, cells ordered by
column name and path, so the order in memory does not matter. Docs call it the dump form.
"""

from typing import Any

from tests.oracle.reference.model import (
    Bound,
    Cell,
    Clustering,
    ComplexDeletion,
    Deletion,
    Item,
    Liveness,
    Row,
    Update,
)

Json = dict[str, Any]


def to_line(update: Update) -> Json:
    """Canonical form of `update`: the content of one line of a dump."""
    partition = update.partition
    # Cassandra's reader drops the epoch of an empty update.
    has_epoch = partition.epoch is not None and not partition.is_empty
    return {
        "segment": update.segment,
        "pos": update.position,
        "update": update.index,
        "updates": update.updates,
        "ks": partition.table.keyspace,
        "table": partition.table.name,
        "id": str(partition.table.id),
        "key": partition.key.hex(),
        "del": _deletion(partition.deletion),
        "static": None if partition.static is None else _row_body(partition.static),
        "items": [_item(item) for item in partition.items],
    } | ({"epoch": partition.epoch} if has_epoch else {})


def _item(item: Item) -> Json:
    match item:
        case Row():
            return {"t": "row", "ck": _clustering(item.clustering or ()), **_row_body(item)}
        case Bound():
            return {
                "t": "bound",
                "kind": item.kind,
                "ck": _clustering(item.clustering),
                "del": _deletion(item.deletion),
            }
        case _:
            return {
                "t": "boundary",
                "kind": item.kind,
                "ck": _clustering(item.clustering),
                "close": _deletion(item.close),
                "open": _deletion(item.open),
            }


def _row_body(row: Row) -> Json:
    deletion = _deletion(row.deletion)
    if deletion is not None and row.shadowable:
        deletion["shadowable"] = True
    return {
        "live": _liveness(row.liveness),
        "del": deletion,
        "cdel": [_complex_deletion(c) for c in sorted(row.complex_deletions, key=_column_bytes)],
        "cells": [_cell(c) for c in sorted(row.cells, key=_cell_order)],
    }


def _column_bytes(element: Cell | ComplexDeletion) -> bytes:
    return element.column.encode()


def _cell_order(cell: Cell) -> tuple[bytes, bytes]:
    return _column_bytes(cell), cell.path or b""


def _cell(cell: Cell) -> Json:
    return {
        "col": cell.column,
        "path": _hex(cell.path),
        "kind": cell.kind,
        "ts": cell.timestamp_us,
        "ttl": cell.ttl_s,
        "ldt": cell.ldt_s,
        "val": _hex(cell.value),
    }


def _complex_deletion(complex_deletion: ComplexDeletion) -> Json:
    deletion = complex_deletion.deletion
    return {"col": complex_deletion.column, "ts": deletion.timestamp_us, "ldt": deletion.ldt_s}


def _liveness(liveness: Liveness | None) -> Json | None:
    if liveness is None:
        return None
    return {"ts": liveness.timestamp_us, "ttl": liveness.ttl_s, "ldt": liveness.ldt_s}


def _deletion(deletion: Deletion | None) -> Json | None:
    return None if deletion is None else {"ts": deletion.timestamp_us, "ldt": deletion.ldt_s}


def _clustering(clustering: Clustering) -> list[str | None]:
    return [_hex(value) for value in clustering]


def _hex(value: bytes | None) -> str | None:
    return None if value is None else value.hex()
