"""`tombstones.on.delete`: a message without a value after each deletion, in every encoding."""

import json
from pathlib import Path
from typing import Any

import pytest

import commitlog
from tests.oracle.reference import parse_schema
from tests.oracle.reference.model import Bound, Cell, Deletion, Liveness, PartitionUpdate, Row
from tests.support.avro.reading import Ids
from tests.support.avro.tables import TIME_US, format_of, segment_of
from tests.support.segments.segment_reading import reader_of

DDL = """CREATE TABLE ks.t (k int, c int, v int, PRIMARY KEY (k, c))
  WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18 AND cdc = true;"""
KEY = b"\0\0\0\7"
DELETION = Deletion(TIME_US, TIME_US // 1_000_000)


def segment(folder: Path) -> Path:
    """Segment with a written row; its deletion and rewrite in one mutation; a deleted range; a
    deleted partition."""
    (table,) = parse_schema(DDL).tables.values()

    def row(deletion: Deletion | None) -> Row:
        cell = Cell("v", None, TIME_US + 1, None, None, b"\0\0\0\1")
        liveness = Liveness(TIME_US + 1, None, None)
        return Row((b"\0\0\0\3",), liveness, deletion, False, (), (cell,))

    bounds = (
        Bound("INCL_START_BOUND", (b"\0\0\0\1",), DELETION),
        Bound("INCL_END_BOUND", (b"\0\0\0\5",), DELETION),
    )
    updates = [
        PartitionUpdate(table, KEY, None, None, (row(None),)),
        PartitionUpdate(table, KEY, None, None, (row(DELETION),)),
        PartitionUpdate(table, KEY, None, None, bounds),
        PartitionUpdate(table, KEY, DELETION, None, ()),
    ]
    return segment_of(folder, updates)


def read(folder: Path, encoding: Any, *, tombstones: bool) -> commitlog.EventBatch:
    ids = Ids()
    event_format = format_of(
        key=encoding, value=encoding, schema_ids=ids.ids, tombstones=tombstones
    )
    schema = commitlog.Schema.from_cql(DDL)
    reader = reader_of(segment(folder))
    batch = reader.read(schema, event_format, complete=True)
    if batch.blocked is not None:
        ids.give(batch.blocked.unregistered)
        batch = reader.read(schema, event_format, complete=True)
    return batch


@pytest.mark.parametrize("encoding", ["json", "json_with_schema", "avro", "string"])
def test_tombstone_carries_key_and_id_of_its_deletion(tmp_path: Path, encoding: str) -> None:
    batch = read(tmp_path, encoding, tombstones=True)
    found = batch.messages(0, len(batch))
    kinds = [dict(headers)["cdc.kind"] for _, _, _, headers, _ in found]
    assert kinds == [b"row", b"row", b"row", b"row", b"range", b"partition", b"partition"]
    assert [at for at, message in enumerate(found) if message[2] is None] == [2, 6]
    for at in (2, 6):
        delete, tombstone = found[at - 1], found[at]
        assert delete[:2] + delete[3:] == tombstone[:2] + tombstone[3:]
    assert batch.counts == {("ks.t", "i"): 2, ("ks.t", "d"): 2, ("ks.t", "r"): 1}
    plain = read(tmp_path, encoding, tombstones=False)
    others = [message for message in found if message[2] is not None]
    for one, two in zip(plain.messages(0, len(plain)), others, strict=True):
        assert (one[0], one[1], one[3], one[4]) == (two[0], two[1], two[3], two[4])
    assert batch.position_after(len(batch)) == plain.position_after(len(plain))
    assert batch.position_after(2) == plain.position_after(2)


def test_tombstone_is_null_in_ndjson(tmp_path: Path) -> None:
    batch = read(tmp_path, "string", tombstones=True)
    lines = [json.loads(line) for line in batch.ndjson(0, len(batch)).splitlines()]
    assert [line["value"] is None for line in lines].count(True) == 2
    assert lines[2]["key"] == "Struct{k=7,c=3}"
    assert lines[6]["key"] == "Struct{k=7}"
    assert lines[0]["value"].startswith("Struct{ts_ms=")
