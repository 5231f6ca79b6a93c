"""Segments in Arrow batches: the agent's events, and reports of unreadable ranges."""

import gzip
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.errors import InputError
from spark_jobs.source.segments import COLUMNS, EVENTS, SegmentDecoder
from tests.oracle.reference.recordings import Scenario
from tests.oracle.reference.segment import read_bytes
from tests.support.segments.archive import agents_events, recording
from tests.support.segments.segment_reading import schema_of

# Recordings with deletions, counters, compression and schema changes.
RECORDINGS = ("4.1/lz4", "5.0/deletions", "5.0/counter-shards/node1", "6.0/epochs")


def decoder(scenario: Scenario, table: Any, **members: Any) -> SegmentDecoder:
    stored = schema_of(scenario).to_stored()
    return SegmentDecoder(stored, table.id, f"{table.keyspace}.{table.name}", **members)


def segments(scenario: Scenario, *, ending: str = "") -> Iterator[pa.RecordBatch]:
    """One batch for each segment."""
    for path, name in scenario.segments():
        content = read_bytes(path)
        yield one(name + ending, gzip.compress(content) if ending == ".gz" else content)


def one(name: str, content: bytes, completed_at: int | None = None) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "path": pa.array([f"file:/archive/{name}"]),
            "content": pa.array([content], pa.binary()),
            "completed_at": pa.array([completed_at], pa.int64()),
        }
    )


def decoded(decode: SegmentDecoder, batches: Iterator[pa.RecordBatch]) -> list[dict[str, Any]]:
    found = list(decode.decode_all(batches))
    assert all(batch.schema == COLUMNS for batch in found)
    return [row for batch in found for row in batch.to_pylist()]


def ids(rows: list[dict[str, Any]]) -> list[bytes]:
    return [row["id"] for row in rows if row["id"]]


@pytest.mark.parametrize("name", RECORDINGS)
def test_decoder_yields_events_of_agent(name: str, tmp_path: Path) -> None:
    scenario = recording(name)
    found = {}
    for table in schema_of(scenario).tables():
        decode = pickle.loads(pickle.dumps(decoder(scenario, table)))
        rows = decoded(decode, segments(scenario))
        events = [
            (row["id"], row["ts_us"], row["kind"], json.loads(row["value"])["cells"])
            for row in rows
            if row["unread"] is None
        ]
        if events:
            found[table.id] = events
    assert found == agents_events(scenario, tmp_path)


def test_compressed_segment_file_yields_same_events() -> None:
    scenario = recording("5.0/deletions")
    table = schema_of(scenario).tables()[0]
    decode = decoder(scenario, table)
    plain = ids(decoded(decode, segments(scenario)))
    assert plain and plain == ids(decoded(decode, segments(scenario, ending=".gz")))


def test_encrypted_segment_needs_key() -> None:
    scenario = recording("5.0/encrypted")
    table = schema_of(scenario).tables()[0]
    with_key = decoder(scenario, table, keys=scenario.keys())
    assert [row for row in decoded(with_key, segments(scenario)) if row["value"]]
    assert "testing" not in repr(with_key)
    with pytest.raises(InputError, match=r"archive/CommitLog.*Set `segments\.key\.ALIAS`"):
        decoded(decoder(scenario, table), segments(scenario))


def test_damaged_range_is_reported_and_rest_is_decoded() -> None:
    scenario = recording("5.0/types")
    table = next(each for each in schema_of(scenario).tables() if each.kind == "table")
    (path, name), *_ = scenario.segments()
    content = bytearray(read_bytes(path))
    decode = decoder(scenario, table)
    whole = ids(decoded(decode, iter([one(name, bytes(content))])))
    content[len(content.rstrip(b"\0")) // 2] ^= 1
    damaged = decoded(decode, iter([one(name, bytes(content))]))
    unread = [row["unread"] for row in damaged if row["unread"]]
    assert [each["segment"] for each in unread] == [f"file:/archive/{name}"]
    assert unread[0]["start"] < unread[0]["end"]
    assert "checksum" in unread[0]["cause"]
    events = ids(damaged)
    assert 0 < len(events) <= len(whole)
    assert set(events) <= set(whole)


def test_unreadable_segment_is_one_unread_range() -> None:
    scenario = recording("5.0/types")
    table = schema_of(scenario).tables()[0]
    rows = decoded(
        decoder(scenario, table),
        iter([one("CommitLog-7-1.log", b"no header"), one("CommitLog-7-2.log.gz", b"no gzip")]),
    )
    assert [(row["unread"]["start"], row["unread"]["end"]) for row in rows] == [(0, None)] * 2
    assert [{name: row[name] for name in EVENTS.names} for row in rows] == [
        dict.fromkeys(EVENTS.names)
    ] * 2


def test_cut_segment_has_gap_up_to_index_position() -> None:
    scenario = recording("5.0/types")
    table = schema_of(scenario).tables()[0]
    (path, name), *_ = scenario.segments()
    content = read_bytes(path)
    end = int((path.parent / f"{name.removesuffix('.log')}_cdc.idx").read_text().split()[0])
    decode = decoder(scenario, table)
    whole = decoded(decode, iter([one(name, content, end)]))
    assert not [row for row in whole if row["unread"]]
    cut = decoded(decode, iter([one(name, content[: end // 2], end)]))
    assert [row for row in cut if row["unread"]]
