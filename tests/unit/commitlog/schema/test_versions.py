"""Columns that returned with another type: decoded with the type at the write, or not at all."""

import json
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commitlog import Schema, SegmentReader
from tests.oracle.reference import parse_schema
from tests.oracle.reference.cql_types import is_complex
from tests.oracle.reference.line import to_line
from tests.oracle.reference.model import (
    Cell,
    ComplexDeletion,
    Deletion,
    PartitionUpdate,
    Row,
    Update,
)
from tests.oracle.reference.schema import Table
from tests.oracle.writer import Form, Written, write_mutation, write_segment
from tests.support.segments.schema_stream import FORMAT, dumped

ID = UUID("5a1c395e-b41f-11e5-9f22-ba0be0483c18")
DROPPED_US = 1_700_000_000_000_000
PRECISION_US = 1000
NAME = "CommitLog-7-1.log"

# Types whose values cannot be mistaken for those of another type. For example, a varint of three
# bytes with its length would also be an int.
VALUES = {
    **{"int": b"\x00\x00\x00\x05", "bigint": b"\x00\x00\x00\x00\x00\x00\x01\x02"},
    **{"varint": b"\x01\x00\x07\x09\x02", "text": b"some text", "blob": b"\xff\xfe\x00\x01\x02"},
    "boolean": b"\x01",
    "frozen<list<int>>": b"\x00\x00\x00\x01\x00\x00\x00\x04\x00\x00\x00\x09",
    **{"list<int>": b"\x00\x00\x00\x09", "map<text, int>": b"\x00\x00\x00\x09"},
}
PATHS = {"list<int>": bytes(range(16)), "map<text, int>": b"key"}


def text(column_type: str) -> str:
    return (
        f"CREATE TABLE k.t (p text, c int, a int, v {column_type}, z text, PRIMARY KEY (p, c)) "
        f"WITH ID = {ID} AND cdc = true;"
    )


def table(column_type: str) -> Table:
    return parse_schema(text(column_type)).tables[ID]


def schema(old: str, new: str | None, dropped_us: int = DROPPED_US) -> Schema:
    """A table whose column `v` was dropped and, optionally, added again."""
    back = f" ALTER TABLE k.t ADD v {new};" if new else ""
    return Schema.from_cql(
        f"{text(old)} ALTER TABLE k.t DROP v USING TIMESTAMP {dropped_us};{back}"
    )


def row(column_type: str, clustering: int, time_us: int, *, overwrites: bool) -> Row:
    complex_deletions: tuple[ComplexDeletion, ...] = ()
    if overwrites and is_complex(table(column_type).columns["v"]):
        complex_deletions = (ComplexDeletion("v", Deletion(time_us - 1, 1_700_000_000)),)
    cells = (
        Cell("a", None, time_us, None, None, b"\x00\x00\x00\x01"),
        Cell("v", PATHS.get(column_type), time_us, None, None, VALUES[column_type]),
        Cell("z", None, time_us, None, None, b"the end"),
    )
    return Row((clustering.to_bytes(4, "big"),), None, None, False, complex_deletions, cells)


def written(updates: list[PartitionUpdate], folder: Path) -> tuple[Path, Written]:
    segment = write_segment([[write_mutation([update], Form(version=7)) for update in updates]])
    path = folder / NAME
    path.write_bytes(segment.data)
    return path, segment


def expected(updates: list[PartitionUpdate], segment: Written) -> list[dict[str, object]]:
    (ends,) = segment.record_ends
    return [
        json.loads(json.dumps(to_line(Update(NAME, end, 0, 1, update))))
        for update, end in zip(updates, ends, strict=True)
    ]


types = st.sampled_from(sorted(VALUES))


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    old=types,
    new=types,
    ages_us=st.lists(st.integers(0, 10**12), min_size=1, max_size=4),
    rows=st.integers(1, 3),
    overwrites=st.booleans(),
)
def test_write_time_selects_column_type(
    old: str, new: str, ages_us: list[int], rows: int, overwrites: bool, tmp_path: Path
) -> None:
    """Writes before and after the drop, in any order of the records."""
    updates = []
    for age_us in ages_us:
        for column_type, time_us in (
            (old, DROPPED_US - age_us),
            (new, DROPPED_US + PRECISION_US + 1 + age_us),
        ):
            items = [row(column_type, c, time_us, overwrites=overwrites) for c in range(rows)]
            updates.append(PartitionUpdate(table(column_type), b"a", None, None, tuple(items)))
    path, segment = written(updates, tmp_path)
    assert dumped([path], schema(old, new), follow=False).lines == expected(updates, segment)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    old=types,
    new=types,
    is_old=st.booleans(),
    times_us=st.lists(st.integers(DROPPED_US - 10**6, DROPPED_US + 10**6), min_size=1, max_size=3),
)
def test_contradicting_write_times_never_yield_wrong_value(
    old: str, new: str, is_old: bool, times_us: list[int], tmp_path: Path
) -> None:
    """If write times contradict the drop, the record is read as written or not at all.

    Types with the same wire format cannot be distinguished."""
    column_type = old if is_old else new
    items = tuple(row(column_type, c, us, overwrites=False) for c, us in enumerate(times_us))
    updates = [PartitionUpdate(table(column_type), b"a", None, None, items)]
    path, segment = written(updates, tmp_path)
    reader = SegmentReader(str(path))
    lines = [json.loads(line) for line in reader.dump(schema(old, new)).splitlines()]
    if lines:
        assert lines == expected(updates, segment)
    else:
        assert "several types" in reader.gaps[0].cause


@pytest.mark.parametrize(
    ("old", "new"), [("int", "varint"), ("text", "blob"), ("int", "list<int>")]
)
def test_event_contains_retyped_column_once(old: str, new: str, tmp_path: Path) -> None:
    updates = [
        PartitionUpdate(table(each), b"a", None, None, (row(each, 1, us, overwrites=False),))
        for each, us in ((old, DROPPED_US - 5), (new, DROPPED_US + 5 * PRECISION_US))
    ]
    path, _ = written(updates, tmp_path)
    batch = SegmentReader(str(path)).read(schema(old, new), FORMAT, complete=True)
    assert batch.blocked is None
    for line in batch.ndjson(0, len(batch)).splitlines():
        pairs = json.loads(line, object_pairs_hook=lambda found: found)
        after = dict(dict(pairs)["value"])["after"]
        names = [name for name, _ in after]
        assert sorted(names) == sorted(["p", "c", "a", "v", "z", "_range_start", "_range_end"])
        assert dict(after)["v"] is not None


def test_uncertain_column_type_blocks_record(tmp_path: Path) -> None:
    """Text and blob have the same bytes, and the write times lie on both sides of the drop."""
    items = tuple(
        row("text", c, DROPPED_US + us, overwrites=False) for c, us in ((1, -9), (2, 9999))
    )
    path, _ = written([PartitionUpdate(table("text"), b"a", None, None, items)], tmp_path)
    batch = SegmentReader(str(path)).read(schema("text", "blob"), FORMAT, complete=True)
    assert batch.blocked is not None
    assert batch.blocked.table_id == str(ID)
    assert "several types" in batch.blocked.reason
