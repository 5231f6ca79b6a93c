"""The member `after` of events against the reference."""

import re
from typing import Any

from tests.oracle.reference.cql_types import Collection, UserType, is_complex
from tests.oracle.reference.schema import Table
from tests.support.events.expected_events import Json
from tests.support.segments.segment_reading import Event

RANGE_MEMBERS = ("_range_start", "_range_end")


def wrapped(value: Any, deletion_us: int | None = None) -> Json:
    return {"value": value, "deletion_ts": deletion_us, "set": True}


def cells_of(cells: Json, column: str) -> list[Json]:
    return [cell for cell in cells.get("cell", ()) if cell["col"] == column]


def check_simple(found: Json, cell: Json) -> None:
    """A tombstone has no value; a cell with a TTL has its expiry."""
    if cell["val"] is None:
        assert found == wrapped(None)
    else:
        expiry_us = cell["ldt"] * 1_000_000 if "ttl" in cell else None
        assert found["deletion_ts"] == expiry_us
        assert found["set"] is True


def check_elements(found: Json, table: Table, column: str, elements: list[Json]) -> None:
    """What is written is in `value`; what is removed is null there, or in `removed`."""
    removed = [cell for cell in elements if cell["val"] is None]
    kept = len(elements) - len(removed)
    cql_type = table.columns[column]
    assert found["deletion_ts"] is None
    if isinstance(cql_type, UserType):
        assert found["value"] is None if not elements else len(found["value"]) == len(elements)
    elif isinstance(cql_type, Collection) and cql_type.kind == "map":
        assert len(found["value"]) == len(elements)
    else:
        assert len(found["value"]) == kept
        assert len(found.get("removed", ())) == len(removed)
        assert ("removed" in found) == bool(removed)


def check_write(after: Json, cells: Json, table: Table, keys: set[str]) -> None:
    """A column is there exactly where the write has a cell or a deletion of it."""
    overwritten = {deletion["col"] for deletion in cells.get("cdel", ())}
    for column, found in after.items():
        if column in keys or column in RANGE_MEMBERS:
            continue
        written = cells_of(cells, column)
        if not written and column not in overwritten:
            assert found is None
        elif is_complex(table.columns[column]):
            check_elements(found, table, column, written)
        else:
            (cell,) = written
            check_simple(found, cell)
    for cell in cells.get("cell", ()):
        assert after[cell["col"]] is not None


def check_deletion(after: Json, cells: Json, keys: set[str], statics: set[str]) -> None:
    """Every column that the deletion reaches carries its time."""
    deleted = wrapped(None, cells["del"]["ts"])
    is_partition = cells["kind"] == "partition"
    for column, found in after.items():
        if column in RANGE_MEMBERS:
            assert found is None
        elif column not in keys:
            assert found == (deleted if is_partition or column not in statics else None)


def check_after(event: Event, table: Table, statics: set[str]) -> None:
    """`after` of one event against its `cells`; `statics` are the table's static columns."""
    after, cells = event.value["after"], event.value["cells"]
    keys = set(event.key)
    for column, value in event.key.items():
        if value is not None:
            assert after[column] == wrapped(value)
    if cells["kind"] == "range":
        assert all(after[member] is not None for member in RANGE_MEMBERS)
        others = set(after) - set(RANGE_MEMBERS) - keys
        assert all(after[column] is None for column in others)
    elif "del" in cells:
        check_deletion(after, cells, keys, statics)
    else:
        check_write(after, cells, table, keys)


def static_columns(text: str) -> dict[str, set[str]]:
    """Names of static columns by table id, from the lines that `DESCRIBE` prints."""
    found: dict[str, set[str]] = {}
    names: set[str] = set()
    for line in text.splitlines():
        words = line.strip().rstrip(",")
        if line.startswith("CREATE"):
            names = set()
        elif words.endswith(" static"):
            name = re.match(r'"((?:[^"]|"")*)"|(\S+)', words)
            assert name is not None
            names.add(name[2] or name[1].replace('""', '"'))
        elif " ID = " in words:
            found[words.split(" ID = ")[1].split()[0].rstrip(";")] = names
    return found
