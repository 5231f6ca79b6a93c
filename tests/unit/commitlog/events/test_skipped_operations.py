"""Skipped operations and COMPACT STORAGE.

`skipped_operations` leaves the other events unchanged. In a table with COMPACT STORAGE a row is one
cell, and the cell's tombstone deletes the row."""

from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any, Literal

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import commitlog
from sidecar.encoding import SchemaIds
from tests.oracle.reference import parse_schema
from tests.oracle.reference.model import Bound, Cell, Deletion, Liveness, PartitionUpdate, Row
from tests.oracle.writer import Form, write_mutation, write_segment
from tests.support.segments.segment_reading import reader_of

TIME_US = 1_795_000_000_000_000
DDL = """CREATE TABLE ks.t (k int, c int, v int, PRIMARY KEY (k, c))
  WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18 AND cdc = true;"""
KEY = b"\0\0\0\7"
DELETION = Deletion(TIME_US, TIME_US // 1_000_000)
Letter = Literal["i", "u", "d", "r"]
LETTERS: tuple[Letter, ...] = ("i", "u", "d", "r")
SUBSETS = [set(each) for count in range(5) for each in combinations(LETTERS, count)]


def row(clustering: int, *, is_insert: bool, deletion: Deletion | None = None) -> Row:
    cell = Cell("v", None, TIME_US + 1, None, None, b"\0\0\0\1")
    liveness = Liveness(TIME_US + 1, None, None) if is_insert else None
    return Row((clustering.to_bytes(4),), liveness, deletion, False, (), (cell,))


def segment(folder: Path) -> Path:
    """Mutations with one event and with several; each operation occurs in both."""
    (table,) = parse_schema(DDL).tables.values()
    bounds = (
        Bound("INCL_START_BOUND", (b"\0\0\0\1",), DELETION),
        Bound("INCL_END_BOUND", (b"\0\0\0\5",), DELETION),
    )
    rows = (
        row(1, is_insert=True),
        row(2, is_insert=False),
        row(3, is_insert=True, deletion=DELETION),
        row(4, is_insert=False, deletion=DELETION),
    )
    updates = [
        PartitionUpdate(table, KEY, None, None, (row(1, is_insert=True),)),
        PartitionUpdate(table, KEY, None, None, (row(1, is_insert=False),)),
        PartitionUpdate(table, KEY, None, None, rows),
        PartitionUpdate(table, KEY, None, None, bounds),
        PartitionUpdate(table, KEY, DELETION, None, rows[:2]),
    ]
    path = folder / "CommitLog-7-1.log"
    payloads = [write_mutation([update], Form(version=7)) for update in updates]
    path.write_bytes(write_segment([payloads], version=7).data)
    return path


def read(path: Path, letters: set[Letter], **options: Any) -> commitlog.EventBatch:
    event_format = commitlog.EventFormat(
        topic_prefix="p", cluster="c", node_id="n", skipped_operations=sorted(letters), **options
    )
    schema = commitlog.Schema.from_cql(DDL)
    return reader_of(path).read(schema, event_format, complete=True)


def operations(batch: commitlog.EventBatch) -> dict[str, int]:
    return {op: count for (_, op), count in batch.counts.items() if count}


@pytest.mark.parametrize("letters", SUBSETS, ids=lambda letters: "".join(sorted(letters)) or "none")
@pytest.mark.parametrize("tombstones", [False, True])
def test_skipping_operations_leaves_other_events_unchanged(
    letters: set[Letter], tombstones: bool, tmp_path: Path
) -> None:
    path = segment(tmp_path)
    whole = read(path, set(), tombstones=tombstones)
    part = read(path, letters, tombstones=tombstones)
    assert operations(whole) == {"i": 4, "u": 4, "d": 3, "r": 1}
    kept = {op: n for op, n in operations(whole).items() if op not in letters}
    assert operations(part) == kept
    skipped = sum(operations(whole).values()) - sum(kept.values())
    assert part.skipped == ({"skipped_operation": skipped} if skipped else {})
    # Ids, places, keys, headers and the position do not depend on the skipped operations.
    found = part.messages(0, len(part))
    # Values are not compared: they contain the reader's clock.
    wanted = [(m[0], m[1], m[3], m[4]) for m in whole.messages(0, len(whole))]
    others = [(m[0], m[1], m[3], m[4]) for m in found]
    assert [each for each in wanted if each in others] == others
    assert (part.end_position, part.mutations) == (whole.end_position, whole.mutations)


def test_skipped_operation_letters_do_not_depend_on_op_style(tmp_path: Path) -> None:
    path = segment(tmp_path)
    assert operations(read(path, {"r"}, op_style="envelope")) == {"c": 4, "u": 4, "d": 3}
    with pytest.raises(ValueError, match='skipped_operations: "t" is not known'):
        read(path, {"t"})  # type: ignore[arg-type]


def test_blocked_record_counts_skipped_events_once(tmp_path: Path) -> None:
    """The record is read again once the table has its schema ids."""
    path = segment(tmp_path)
    ids = SchemaIds()
    event_format = commitlog.EventFormat(
        topic_prefix="p", cluster="c", node_id="n", value="avro", schema_ids=ids,
        skipped_operations=["i"],
    )  # fmt: skip
    schema = commitlog.Schema.from_cql(DDL)
    blocked = reader_of(path).read(schema, event_format, complete=True)
    assert blocked.blocked is not None
    assert blocked.skipped == {}


START_US = 1_795_000_000_000_000
TIME_S = START_US // 1_000_000
TABLE_ID = "5a1c395e-b41f-11e5-9f22-ba0be0483c18"
PARTITION = b"\0\0\0\7"
# The declared columns, and the columns that Cassandra stores.
TABLES = {
    "key only": (
        "k int, c int, PRIMARY KEY (k, c)",
        "k int, c int, value blob, PRIMARY KEY (k, c)",
    ),
    "one value": ("k int, c int, v text, PRIMARY KEY (k, c)",) * 2,
    "two clusterings": ("k int, c int, d int, v text, PRIMARY KEY (k, c, d)",) * 2,
}


def created(columns: str, options: str = "") -> str:
    return f"CREATE TABLE ks.t ({columns}) WITH {options} ID = {TABLE_ID} AND cdc = true;"


def read_dense(path: Path, schema: commitlog.Schema) -> list[tuple[bytes, bytes | None, str]]:
    """Keys, values and operations; a tombstone has no operation."""
    event_format = commitlog.EventFormat(
        topic_prefix="p", cluster="c", node_id="n", tombstones=True
    )
    batch = reader_of(path).read(schema, event_format, complete=True)
    found = []
    for _, key, value, _, _ in batch.messages(0, len(batch)):
        op = "" if value is None else orjson.loads(value)["op"]
        found.append((key, value, op))
    return found


def cell(random: Random, column: str, time_us: int) -> Cell:
    value = b"" if column == "value" else random.choice([b"", b"x"])
    match random.randrange(3):
        case 0:
            return Cell(column, None, time_us, None, TIME_S, None)
        case 1:
            return Cell(column, None, time_us, 1_000_000, TIME_S + 1_000_000, value)
        case _:
            return Cell(column, None, time_us, None, None, value)


@pytest.mark.parametrize("name", TABLES)
@given(seed=st.integers(0))
def test_compacted_topic_holds_existing_rows(
    name: str, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    declared, stored = TABLES[name]
    random = Random(seed)
    (table,) = parse_schema(created(stored)).tables.values()
    column = "value" if name == "key only" else "v"
    clusterings = 2 if name == "two clusterings" else 1
    rows: dict[tuple[bytes, ...], bool] = {}
    payloads = []
    for number in range(random.randrange(1, 12)):
        clustering = tuple(random.randrange(3).to_bytes(4) for _ in range(clusterings))
        written = cell(random, column, START_US + number)
        rows[clustering] = written.value is not None
        row = Row(clustering, None, None, False, (), (written,))
        update = PartitionUpdate(table, PARTITION, None, None, (row,))
        payloads.append(write_mutation([update], Form(version=7)))
    path = tmp_path_factory.mktemp("dense") / "CommitLog-7-1.log"
    path.write_bytes(write_segment([payloads], version=7).data)

    found = read_dense(path, commitlog.Schema.from_cql(created(declared, "COMPACT STORAGE AND")))
    topic = {key: value for key, value, _ in found}
    assert sorted(value is not None for value in topic.values()) == sorted(rows.values())
    assert {op for _, _, op in found} <= {"u", "d", ""}
    ordinary = read_dense(path, commitlog.Schema.from_cql(created(stored)))
    assert {op for _, _, op in ordinary} == {"u"}
    # The rest of the event is the same, `cells` included.
    assert [members(value) for _, value, _ in found if value is not None] == [
        members(value) for _, value, _ in ordinary
    ]


def members(value: bytes | None) -> dict[str, Any]:
    """`cells` of an event, without the name of the operation."""
    return dict(orjson.loads(value or b"{}")["cells"])


@pytest.mark.parametrize(
    ("flags", "is_dense"),
    [
        (["dense"], True),
        (["dense", "compound"], True),
        (["dense", "super"], False),
        (["compound"], False),
        ([], False),
    ],
)
def test_table_flags_decide_compact_storage(
    flags: list[str], is_dense: bool, tmp_path: Path
) -> None:
    columns = (("k", "partition_key"), ("c", "clustering"), ("v", "regular"))
    rows = {
        "tables": [
            {"keyspace_name": "ks", "table_name": "t", "id": TABLE_ID, "cdc": True, "flags": flags}
        ],
        "columns": [
            {
                "keyspace_name": "ks",
                "table_name": "t",
                "column_name": column,
                "kind": kind,
                "position": -1 if kind == "regular" else 0,
                "clustering_order": "asc" if kind == "clustering" else "none",
                "type": "int",
            }
            for column, kind in columns
        ],
    }
    (table,) = parse_schema(created("k int, c int, v int, PRIMARY KEY (k, c)")).tables.values()
    deleted = Cell("v", None, START_US, None, TIME_S, None)
    row = Row((b"\0\0\0\1",), None, None, False, (), (deleted,))
    update = PartitionUpdate(table, PARTITION, None, None, (row,))
    path = tmp_path / "CommitLog-7-1.log"
    path.write_bytes(write_segment([[write_mutation([update], Form(version=7))]], version=7).data)
    schema = commitlog.Schema.from_system_rows(orjson.dumps(rows))
    for known in (schema, commitlog.Schema.from_stored(schema.to_stored())):
        assert [op for _, _, op in read_dense(path, known)] == (["d", ""] if is_dense else ["u"])
