"""Events of recorded segments, with the types of real tables, merge as in plain Python."""

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import commitlog
from commitlog.merge import Merger
from tests.oracle.algebra import Table
from tests.oracle.reference.recordings import Scenario, rows, scenarios
from tests.support.events.merge_batches import Item, input_batches, items, raw_rows, states
from tests.support.segments.merged_recordings import read, seconds
from tests.support.segments.segment_reading import schema_of

pytestmark = pytest.mark.heavy

SEED = 25


def merger_of(schema: commitlog.Schema, table_id: str) -> Merger:
    (table,) = (table for table in schema.tables() if table.id == table_id)
    return Merger(schema, table.keyspace, table.name, table_id=table_id)


def shown(merger: Merger, content: list[Item], at_s: list[int]) -> list[Any]:
    return [list(raw_rows(merger.rows(input_batches(content), now_s=s)).items()) for s in at_s]


@pytest.mark.parametrize("scenario", rows(scenarios()))
def test_recordings_merge_as_in_plain_python(scenario: Scenario, tmp_path: Path) -> None:
    found = read(scenario, tmp_path)
    schema = schema_of(scenario)
    generator = random.Random(SEED)
    of_tables = defaultdict(list)
    for event in found:
        of_tables[event.value["cells"]["id"]].append(event)
    for table_id, events in of_tables.items():
        merger = merger_of(schema, table_id)
        table = Table()
        for column, ts_us in dropped(schema, table_id).items():
            table.drop(column, ts_us)
        for event in events:
            table.apply(event.value)
        at_s = seconds(events)
        names = set(merger.typed_schema.names)
        expected = [
            [
                (key, {name: value for name, value in row.items() if name in names})
                for key, row in table.rows(now_s).items()
            ]
            for now_s in at_s
        ]
        content = items(event.value for event in events)
        assert shown(merger, content, at_s) == expected
        generator.shuffle(content)
        half = len(content) // 2
        base = states(merger.compact(input_batches(content[:half])))
        assert shown(merger, [*content[half:], *base], at_s) == expected
        changes = merger.changes(
            input_batches([(token, part, True) for token, part, _ in content]),
            before_s=at_s[0],
            after_s=at_s[0],
            each=False,
        )
        after = [pa.RecordBatch.from_struct_array(b.column("after")) for b in changes]
        typed = merger.typed(input_batches(content), now_s=at_s[0])
        assert serialized(after) == serialized([b.drop_columns(["cdc_row_id"]) for b in typed])


def serialized(batches: list[pa.RecordBatch]) -> bytes | None:
    """The bytes of all rows; NaN equals NaN."""
    return pa.concat_batches(batches).serialize().to_pybytes() if batches else None


def dropped(schema: commitlog.Schema, table_id: str) -> dict[str, int]:
    """The last drop of each column."""
    stored = json.loads(schema.to_stored())["tables"]
    return {
        column["name"]: max(column["drops_us"])
        for table in stored
        if table["id"] == table_id
        for column in [*table["static"], *table["regular"]]
        if column["drops_us"]
    }
