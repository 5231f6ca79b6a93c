"""Rows and markers in forms that are rare, or that only one version writes."""

from uuid import UUID

import pytest

from tests.oracle.reference import CorruptSegmentError
from tests.oracle.reference.model import Bound, Boundary, PartitionUpdate, Row
from tests.oracle.reference.rows import HAS_ALL_COLUMNS, HAS_COMPLEX_DELETION, HAS_TIMESTAMP
from tests.oracle.reference.schema_text import parse_schema
from tests.oracle.reference.segment import read_segment
from tests.oracle.reference.times import LIVE_TIMESTAMP_US, TIMESTAMP_EPOCH_US
from tests.oracle.writer import insert, mutation, segment, update, uvint, vbytes

TABLE_ID = UUID("240c5050-e5c9-11f1-998c-b39dc08f01bb")
WIDE_ID = UUID("2f10e6a0-e5c9-11f1-998c-b39dc08f01bb")
WIDE = [f"c{number:03}" for number in range(130)]
SCHEMA = parse_schema(
    f"CREATE TABLE k.t (p text, c int, v text, m map<int, int>, PRIMARY KEY (p, c)) "
    f"WITH ID = {TABLE_ID};"
    f"CREATE TABLE k.wide (p text, {', '.join(f'{c} text' for c in WIDE)}, "
    f"{', '.join(f'k{number:02} text' for number in range(40))}, "
    f"PRIMARY KEY (p, {', '.join(f'k{number:02}' for number in range(40))})) WITH ID = {WIDE_ID};"
)


def read(payload: bytes, version: int = 7) -> list[PartitionUpdate]:
    data = segment([[payload]], version=version)
    return [u.partition for u in read_segment(data, f"CommitLog-{version}-1.log", SCHEMA)]


def read_rows(items: bytes, columns: list[bytes], table_id: UUID = TABLE_ID) -> tuple[Row, ...]:
    (found,) = read(mutation(update(table_id, items, columns)))
    return tuple(item for item in found.items if isinstance(item, Row))


def wide_clustering() -> bytes:
    """Forty values: 32 behind one header, 8 behind the next; number 1 is empty, number 33 null."""
    values = [vbytes(b"%d" % number) for number in range(40)]
    first = uvint(1 << 2) + b"".join(v for i, v in enumerate(values[:32]) if i != 1)
    second = uvint(1 << 3) + b"".join(v for i, v in enumerate(values[32:]) if i != 1)
    return first + second


def test_a_second_header_follows_thirty_two_clustering_values() -> None:
    items = bytes([HAS_ALL_COLUMNS | HAS_TIMESTAMP]) + wide_clustering() + uvint(0)
    (row,) = read_rows(items, [], WIDE_ID)
    expected: list[bytes | None] = [b"%d" % number for number in range(40)]
    expected[1], expected[33] = b"", None
    assert row.clustering == tuple(expected)


@pytest.mark.parametrize(
    ("count", "present_first"),
    [(1, 0), *((count, p) for count in (63, 64, 75, 130) for p in (0, 1, 31, 32, 33, 37, 62))],
)
def test_subsets_of_columns(count: int, present_first: int) -> None:
    """The first `present_first` columns of `count` are there, by each of the three encodings."""
    missing = range(present_first, count)
    if count < 64:
        subset = uvint(sum(1 << i for i in missing))
    else:
        listed = range(present_first) if present_first < count // 2 else missing
        subset = uvint(len(missing)) + b"".join(map(uvint, listed))
    cells = b"".join(b"\x00" + uvint(0) + vbytes(b"x") for _ in range(present_first))
    items = bytes([HAS_TIMESTAMP]) + wide_clustering() + uvint(0) + subset + cells
    (row,) = read_rows(items, [name.encode() for name in WIDE[:count]], WIDE_ID)
    assert [cell.column for cell in row.cells] == WIDE[:present_first]


@pytest.mark.parametrize(
    ("count", "subset"),
    [(3, uvint(1 << 3)), (64, uvint(65)), (64, b"\x02\x07\x05"), (64, b"\x01\x40")],
)
def test_impossible_subsets_are_rejected(count: int, subset: bytes) -> None:
    items = b"\x00" + wide_clustering() + subset
    with pytest.raises(CorruptSegmentError):
        read_rows(items, [name.encode() for name in WIDE[:count]], WIDE_ID)


def test_forms_that_recordings_lack() -> None:
    """A null clustering value, a shadowable deletion, bounds, an update that says nothing."""
    deletion = uvint(1) + uvint(2)
    items = (
        # A row with the null bit of its one clustering value; a shadowable deletion.
        bytes([0x80 | 0x10 | HAS_ALL_COLUMNS, 0x02])
        + b"\x02"
        + deletion
        + b"\x02\x07\x00\x00"
        + deletion
        + b"\x02\x05\x00\x01\x01"
        + deletion
        + deletion
        + b"\x02\x06\x00\x00"
        + deletion
    )
    empty = TABLE_ID.bytes + vbytes(b"a") + b"\x01"
    nothing, found = read(mutation(empty, update(TABLE_ID, items, columns=())))
    assert (nothing.key, nothing.items, nothing.deletion) == (b"a", (), None)
    row, opening, boundary, closing = found.items
    assert isinstance(row, Row) and row.shadowable and row.clustering == (None,)
    assert isinstance(opening, Bound) and opening.kind == "EXCL_START_BOUND"
    assert isinstance(boundary, Boundary) and boundary.clustering == (b"",)
    assert isinstance(closing, Bound) and closing.clustering == ()
    assert closing.deletion.timestamp_us == 1442880000000001
    assert closing.deletion.ldt_s == 1442880002


@pytest.mark.parametrize(
    ("version", "ldt_delta", "expected"),
    [
        (7, 0x7FFFFFFF - 1442880000, None),
        (7, (1 << 64) - 1442880001, -1),
        (8, 0xFFFFFFFF - 1442880000, None),
        (8, 2425999062 - 1442880000, 2425999062),
        (8, 0x7FFFFFFF - 1442880000, 0x7FFFFFFF),
    ],
)
def test_local_deletion_times_by_version(
    version: int, ldt_delta: int, expected: int | None
) -> None:
    items = b"\x02\x01\x00\x00" + uvint(0) + uvint(ldt_delta)
    (found,) = read(mutation(update(TABLE_ID, items)), version)
    (bound,) = found.items
    assert isinstance(bound, Bound)
    assert bound.deletion.ldt_s == expected


def test_a_live_deletion_of_a_complex_column_is_none() -> None:
    live_delta = (LIVE_TIMESTAMP_US - TIMESTAMP_EPOCH_US) % (1 << 64)
    flags = bytes([HAS_ALL_COLUMNS | HAS_COMPLEX_DELETION | HAS_TIMESTAMP])
    items = flags + b"\x00" + bytes(4) + uvint(0) + uvint(live_delta) + uvint(0) + uvint(0)
    (row,) = read_rows(items, [b"m"])
    assert (row.complex_deletions, row.cells) == ((), ())


def test_empty_rows_are_passed_over() -> None:
    """What `UPDATE … SET l = l - [1]` leaves where nothing is to be removed."""
    empty = bytes([0]) + uvint(0) + bytes(4) + uvint(1)
    assert read_rows(empty, [b"v"]) == ()
    assert len(read_rows(insert(1, b"v") + empty + insert(2, b"v"), [b"v"])) == 2
