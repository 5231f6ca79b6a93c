"""Archived segments of several nodes as a DataFrame of events."""

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sidecar.errors import ConfigError
from spark_jobs.errors import InputError, mapped_error
from spark_jobs.source.segments import SegmentDecoder, UnreadRange, find_segments, unread_ranges
from tests.support.segments.archive import agents_events, archive, recording
from tests.support.segments.segment_reading import schema_of

NODES = {node: recording(f"5.0/three-nodes/{node}") for node in ("node1", "node2", "node3")}


def test_segments_yield_events_of_all_nodes_and_unread_ranges(
    spark: SparkSession, tmp_path: Path
) -> None:
    archive(NODES, tmp_path)
    schema = schema_of(NODES["node1"])
    table = next(each for each in schema.tables() if each.kind == "table")
    name = f"{table.keyspace}.{table.name}"
    (tmp_path / "node1" / "error").mkdir()
    damaged = tmp_path / "node1" / "error" / "CommitLog-7-7.log"
    damaged.write_bytes(b"no header")
    segments = find_segments(spark, str(tmp_path))
    logs = [each for each in tmp_path.rglob("CommitLog-*.log")]
    assert segments.count == len(logs)
    assert segments.size_bytes == sum(log.stat().st_size for log in logs)
    assert segments.oldest_ms == 7
    events, observation = segments.events(SegmentDecoder(schema.to_stored(), table.id, name))
    found = sorted((bytes(row.id), row.ts_us, row.kind) for row in events.collect())
    assert found == sorted(
        (event_id, ts_us, kind)
        for scenario in NODES.values()
        for event_id, ts_us, kind, _ in agents_events(scenario, tmp_path)[table.id]
    )
    assert found
    (unread,) = unread_ranges(observation)
    assert unread == UnreadRange(f"file:{damaged}", 0, None, unread.cause)
    assert str(unread).startswith(f"file:{damaged}: positions 0 to the end: ")


def test_folder_without_segments_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "CommitLog-7-5_cdc.idx").write_text("7\nCOMPLETED\n")
    (tmp_path / "CommitLog-7-5.log.tmp").write_text("")
    with pytest.raises(ConfigError, match=r"has no segment .* archive segments"):
        find_segments(spark, str(tmp_path))


def test_encrypted_segment_error_contains_remedy(spark: SparkSession, tmp_path: Path) -> None:
    scenario = recording("5.0/encrypted")
    archive({"node1": scenario}, tmp_path)
    schema = schema_of(scenario)
    table = schema.tables()[0]
    decoder = SegmentDecoder(schema.to_stored(), table.id, f"{table.keyspace}.{table.name}")
    events, _ = find_segments(spark, str(tmp_path)).events(decoder)
    with pytest.raises(PySparkException) as raised:
        events.collect()
    error = mapped_error(raised.value)
    assert isinstance(error, InputError)
    assert str(error).startswith(f"file:{tmp_path}/node1/archive/CommitLog-7-")
    assert str(error).endswith("Set `segments.key.ALIAS` to the key in hexadecimal digits.")
