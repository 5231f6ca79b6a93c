"""COMPACT STORAGE with clustering columns: a row is one cell, and its tombstone deletes the row.

A reader of a compacted topic must see the rows that Cassandra shows, whatever was written.
"""

from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import commitlog
from tests.oracle.reference import parse_schema
from tests.oracle.reference.model import Cell, PartitionUpdate, Row
from tests.oracle.writer import Form, write_mutation, write_segment
from tests.support.segments.segment_reading import reader_of

TIME_US = 1_795_000_000_000_000
TIME_S = TIME_US // 1_000_000
TABLE_ID = "5a1c395e-b41f-11e5-9f22-ba0be0483c18"
KEY = b"\0\0\0\7"
# The columns, and those that Cassandra stores.
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


def read(path: Path, schema: commitlog.Schema) -> list[tuple[bytes, bytes | None, str]]:
    """Keys, values and operations; without one for a tombstone."""
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
def test_a_compacted_topic_has_the_rows_that_exist(
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
        written = cell(random, column, TIME_US + number)
        rows[clustering] = written.value is not None
        row = Row(clustering, None, None, False, (), (written,))
        update = PartitionUpdate(table, KEY, None, None, (row,))
        payloads.append(write_mutation([update], Form(version=7)))
    path = tmp_path_factory.mktemp("dense") / "CommitLog-7-1.log"
    path.write_bytes(write_segment([payloads], version=7).data)

    found = read(path, commitlog.Schema.from_cql(created(declared, "COMPACT STORAGE AND")))
    topic = {key: value for key, value, _ in found}
    assert sorted(value is not None for value in topic.values()) == sorted(rows.values())
    assert {op for _, _, op in found} <= {"u", "d", ""}
    ordinary = read(path, commitlog.Schema.from_cql(created(stored)))
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
def test_the_flags_of_a_table_decide(flags: list[str], is_dense: bool, tmp_path: Path) -> None:
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
    deleted = Cell("v", None, TIME_US, None, TIME_S, None)
    row = Row((b"\0\0\0\1",), None, None, False, (), (deleted,))
    update = PartitionUpdate(table, KEY, None, None, (row,))
    path = tmp_path / "CommitLog-7-1.log"
    payload = write_mutation([update], Form(version=7))
    path.write_bytes(write_segment([[payload]], version=7).data)
    schema = commitlog.Schema.from_system_rows(orjson.dumps(rows))
    for known in (schema, commitlog.Schema.from_stored(schema.to_stored())):
        found = [op for _, _, op in read(path, known)]
        assert found == (["d", ""] if is_dense else ["u"])
