"""Events of a batch as Arrow columns: the bytes that the agent sends."""

from pathlib import Path

import pyarrow as pa

import commitlog
from tests.oracle.reference.recordings import OWN, Scenario
from tests.support.segments.segment_reading import reader_of, schema_of, unpacked

RECORDING = Scenario(OWN, OWN / "5.0" / "deletions")


def batch(folder: Path) -> commitlog.EventBatch:
    (path, name), *_ = RECORDING.segments()
    event_format = commitlog.EventFormat(
        topic_prefix="t", cluster="c", node_id="n", all_tables=True, tombstones=True
    )
    reader = reader_of(unpacked(path, name, folder))
    schema = schema_of(RECORDING)
    return reader.read(schema, event_format, complete=True, abandoned=[])


def test_columns_have_the_values_and_headers_of_the_messages(tmp_path: Path) -> None:
    events = batch(tmp_path)
    columns = pa.record_batch(events)
    assert [(each.name, str(each.type)) for each in columns.schema] == [
        ("id", "binary"),
        ("ts_us", "int64"),
        ("kind", "string"),
        ("value", "binary"),
    ]
    expected = []
    for _, _, value, headers, _ in events.messages(0, len(events)):
        given = dict(headers)
        expected.append(
            (given["cdc.id"], int(given["cdc.ts_us"]), given["cdc.kind"].decode(), value)
        )
    assert [tuple(row.values()) for row in columns.to_pylist()] == expected
    assert None in [value for *_, value in expected]


def test_a_batch_without_events_has_no_rows(tmp_path: Path) -> None:
    reader = reader_of(unpacked(*RECORDING.segments()[0], tmp_path))
    nothing = commitlog.EventFormat(
        topic_prefix="t", cluster="c", node_id="n", include=["no\\.table"]
    )
    events = reader.read(schema_of(RECORDING), nothing, complete=True)
    assert pa.record_batch(events).to_pylist() == []
