"""`skipped_operations`: which events are not published, and that the others stay the same."""

from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import pytest

import commitlog
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
    """Mutations of one and of several events, with each operation alone and beside others."""
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
def test_the_other_events_are_the_same(
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
    # Ids, places, keys and headers do not depend on what is skipped; nor does the position.
    found = part.messages(0, len(part))
    # The clock of the reader is in the value.
    wanted = [(m[0], m[1], m[3], m[4]) for m in whole.messages(0, len(whole))]
    others = [(m[0], m[1], m[3], m[4]) for m in found]
    assert [each for each in wanted if each in others] == others
    assert (part.end_position, part.mutations) == (whole.end_position, whole.mutations)


def test_the_letters_do_not_depend_on_the_style(tmp_path: Path) -> None:
    path = segment(tmp_path)
    assert operations(read(path, {"r"}, op_style="envelope")) == {"c": 4, "u": 4, "d": 3}
    with pytest.raises(ValueError, match='skipped_operations: "t" is not known'):
        read(path, {"t"})  # type: ignore[arg-type]


def test_a_table_that_is_blocked_counts_its_skipped_events_once(tmp_path: Path) -> None:
    """Its record is read again when the table has its schema ids."""
    path = segment(tmp_path)
    ids = commitlog.SchemaIds()
    event_format = commitlog.EventFormat(
        topic_prefix="p", cluster="c", node_id="n", value="avro", schema_ids=ids,
        skipped_operations=["i"],
    )  # fmt: skip
    schema = commitlog.Schema.from_cql(DDL)
    reader = reader_of(path)
    blocked = reader.read(schema, event_format, complete=True)
    assert blocked.blocked is not None
    assert blocked.skipped == {}
