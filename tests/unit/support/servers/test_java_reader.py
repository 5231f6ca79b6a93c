"""Cassandra's own reader as the harness runs it: it agrees with the parser and with recordings."""

import gzip
import json
import os
from pathlib import Path

import pytest

from commitlog import Schema, SegmentReader
from tests.support.servers.errors import ToolFailedError
from tests.support.servers.java_reader import JavaBench, dump_segments, write_segments

pytestmark = pytest.mark.servers

_SHARED = Path(os.environ.get("CDC_SHARED") or Path(__file__).resolve().parents[5] / "shared")
_SCENARIOS = (
    "3.11/mixed",
    "4.0/f03-deletions",
    "4.1/f12-lz4",
    "5.0/f01-types",
    "5.0/f10-views",
    "5.0/f11-schema-churn",
    "5.0/f13-encrypted",
    "5.0/f18-mode-switch",
)


@pytest.mark.parametrize("compressor", [None, "LZ4Compressor"])
def test_reads_cassandras_segments(tmp_path: Path, compressor: str | None) -> None:
    written = write_segments(
        tmp_path, segment_mib=1, count=2, value_bytes=66, seed=7, compressor=compressor
    )
    segments = sorted(tmp_path.glob("CommitLog-*.log"))
    schema_file = tmp_path / "schema.cql"
    schema = Schema.from_cql(schema_file.read_text())

    scans = [SegmentReader(str(segment)).scan(schema) for segment in segments]
    with JavaBench(segments, schema_file) as bench:
        visited = bench.round("visit")
        counted = bench.round("deserialise")
    dump = dump_segments(segments, schema_file)

    assert written == sum(scan.mutations for scan in scans) == visited.mutations
    assert visited.cells == sum(scan.cells for scan in scans) == 3 * written
    assert visited.payload_bytes == sum(scan.payload_bytes for scan in scans)
    assert visited.checksum == sum(scan.checksum for scan in scans) % (1 << 64)
    assert (counted.mutations, counted.cells) == (written, 0)
    assert len(dump.ndjson.splitlines()) == written
    assert (dump.errors, dump.unknown) == ((), {})
    completed = [segment.with_name(f"{segment.stem}_cdc.idx") for segment in segments[:2]]
    assert [file.read_text().split("\n")[1] for file in completed] == ["COMPLETED"] * 2


@pytest.mark.parametrize("scenario", _SCENARIOS)
def test_dumps_recordings(scenario: str) -> None:
    folder = _SHARED / "fixtures" / scenario
    if not folder.is_dir():
        pytest.skip(f"no recordings in {folder}")
    keystore = folder / "cassandra.keystore"

    dump = dump_segments(
        sorted(folder.glob("CommitLog-*.log.gz")),
        folder / "schema.cql",
        keystore=keystore if keystore.exists() else None,
    )

    with gzip.open(folder / "dump.ndjson.gz") as recorded:
        expected = [json.loads(line) for line in recorded]
    assert [json.loads(line) for line in dump.ndjson.splitlines()] == expected
    assert dump.errors == ()


def test_says_why_a_program_fails(tmp_path: Path) -> None:
    with pytest.raises(ToolFailedError, match=r"no-such\.cql"):
        dump_segments([tmp_path / "CommitLog-7-1.log"], tmp_path / "no-such.cql")
