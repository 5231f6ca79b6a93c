"""The parser compared with recordings of real nodes and Cassandra's own answers."""

import os
import shutil
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest

import commitlog
from agent.cdc_raw.idx import Idx, read_idx
from tests.oracle.reference.descriptor import read_descriptor
from tests.oracle.reference.recordings import GOLDEN, KEYSTORE, SHARED, Scenario, rows, scenarios
from tests.oracle.reference.sections import read_sections
from tests.support.events.expected_events import Json
from tests.support.segments.segment_reading import dump, overwrite, reader_of, schema_of, unpacked

pytestmark = pytest.mark.heavy

SCENARIOS = scenarios()
REPLAYED = [
    scenario
    for scenario in SCENARIOS
    if scenario.folder.parent.name.endswith("kill9-lz4") and scenario.folder.name[0] in "23"
]
SNAPSHOTS = sorted((SHARED / "fixtures").rglob("snap-*/CommitLog-*.log.gz"))

# Folder, cells and hash as published with the segments (Cassandra's CommitLogUpgradeTest).
GOLDEN_SEGMENTS = [
    ("3.0.13-encrypted", 1404, -576744414),
    ("3.0.29-encrypted", 98, -325801478),
    ("3.4-encrypted", 14561, 2026350947),
    ("4.0.11-encrypted", 355, -918027651),
]


@dataclass(frozen=True, slots=True)
class Recorded:
    """The segments of a scenario, each with its lines."""

    scenario: Scenario
    schema: commitlog.Schema
    lines: dict[Path, list[Json]]


@pytest.fixture(scope="module", params=rows(SCENARIOS, is_whole=True))
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    scenario, schema = request.param, schema_of(request.param)
    folder = tmp_path_factory.mktemp("segments")
    found = {}
    for path, name in scenario.segments():
        segment = unpacked(path, name, folder)
        dumped = dump(segment, schema)
        assert dumped.gaps == []
        found[segment] = dumped.lines
    return Recorded(scenario, schema, found)


def test_parsed_lines_equal_cassandras_reader(recorded: Recorded) -> None:
    assert [*chain(*recorded.lines.values())] == recorded.scenario.expected()


def test_segments_match_descriptors_and_have_no_gaps(recorded: Recorded) -> None:
    """The index file states where the segment ends."""
    is_encrypted = (recorded.scenario.folder / KEYSTORE).exists()
    for segment in recorded.lines:
        descriptor = commitlog.read_descriptor(str(segment))
        assert descriptor.segment == segment.name
        assert segment.name == f"CommitLog-{descriptor.version}-{descriptor.segment_id}.log"
        assert descriptor.encrypted == is_encrypted
        assert descriptor.key_alias == ("testing:1" if is_encrypted else None)
        assert descriptor.compression is None or descriptor.compression.endswith("Compressor")
        assert segment.read_bytes()[:4] == descriptor.version.to_bytes(4, "big")
        index = recorded.scenario.folder / f"{segment.stem}_cdc.idx"
        if index.exists():
            assert gaps_by_index(segment, read_idx(index)) == []


def test_every_way_of_reading_returns_same_lines(recorded: Recorded) -> None:
    """A scan, small chunks, and resuming at the end of any record."""
    schema = recorded.schema
    for segment, lines in recorded.lines.items():
        scan = reader_of(segment).scan(schema)
        items = [row for line in lines for row in (line["static"], *line["items"]) if row]
        assert scan.updates >= len(lines)
        assert scan.cells == sum(len(row.get("cells", ())) for row in items)
        assert dump(segment, schema, max_bytes=1).lines == lines
        ends = sorted({line["pos"] for line in lines})
        for end in ends[:: max(1, len(ends) // 5)]:
            rest = dump(segment, schema, position=end)
            assert (rest.gaps, rest.lines) == ([], [line for line in lines if line["pos"] > end])


@pytest.mark.parametrize("scenario", rows(REPLAYED))
def test_cut_or_zeroed_replayed_block_segment_has_gap(scenario: Scenario, tmp_path: Path) -> None:
    """COMPLETED carries the file length; the logical end is larger."""
    path, name = scenario.segments()[0]
    idx = read_idx(path.with_name(f"{Path(name).stem}_cdc.idx"))
    segment = unpacked(path, name, tmp_path)
    data = segment.read_bytes()
    assert idx.completed_at == len(data)
    descriptor = read_descriptor(data, name)
    ends = [section.file_end for section in read_sections(data, descriptor, scenario.keys())]
    for boundary in (descriptor.header_length, *ends[:-1]):
        for rest in (b"", bytes(len(data) - boundary)):
            overwrite(segment, data[:boundary] + rest)
            assert gaps_by_index(segment, idx), (boundary, len(rest))
    overwrite(segment, data)
    assert gaps_by_index(segment, idx) == []


def gaps_by_index(segment: Path, idx: Idx) -> list[commitlog.Gap]:
    """The gaps of a final segment with this index."""
    reader = reader_of(segment)
    end, number = idx.synced_end(segment.stat().st_size), idx.completed_at or 0
    while not (seen := reader.verify(expected_end=end, completed_at=number)).done:
        pass
    return seen.gaps


@pytest.mark.slow
@pytest.mark.parametrize("path", SNAPSHOTS, ids=lambda path: f"{path.parts[-3]}-{path.parts[-2]}")
def test_live_segment_is_read_up_to_index_position(path: Path, tmp_path: Path) -> None:
    index = path.with_name(path.name.replace(".log.gz", "_cdc.idx"))
    if not index.exists():
        return
    limit = int(index.read_text().split("\n")[0])
    scenario = Scenario(SHARED / "fixtures", path.parent.parent)
    final_lines = [line for line in scenario.expected() if line["segment"] == path.name[:-3]]
    segment = unpacked(path, path.name[:-3], tmp_path)
    dumped = dump(segment, schema_of(scenario), limit=limit, complete=False)
    assert dumped.gaps == []
    assert dumped.lines == [line for line in final_lines if line["pos"] <= limit]


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "cells", "expected_hash"), GOLDEN_SEGMENTS)
def test_golden_segments_match_published_hashes(
    folder: str, cells: int, expected_hash: int, tmp_path: Path
) -> None:
    """The hash sums all bytes, each shifted by its position, as a signed 32-bit number."""
    if not GOLDEN.is_dir():
        pytest.skip(f"no golden segments at {GOLDEN}")
    text = (GOLDEN / folder / "hash.txt").read_text()
    properties = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    schema = commitlog.Schema.from_cql(
        'CREATE TABLE "Keyspace1"."Standard1" (key ascii, col ascii, val blob, val0 blob,'
        f" PRIMARY KEY (key, col)) WITH ID = {properties['cfid'].strip()}"
    )
    shutil.copyfile(GOLDEN / KEYSTORE, tmp_path / KEYSTORE)
    values = [
        bytes.fromhex(cell["val"] or "")
        for path in sorted((GOLDEN / folder).glob("CommitLog-*.log"))
        for line in dump(unpacked(path, path.name, tmp_path), schema).lines
        for row in line["items"]
        if row["t"] == "row" and bytes.fromhex(row["ck"][0]).startswith(b"name")
        for cell in row["cells"]
    ]
    total = sum(byte << 8 * (at % 4) for value in values for at, byte in enumerate(value))
    assert (len(values), (total + (1 << 31)) % (1 << 32) - (1 << 31)) == (cells, expected_hash)


def test_recordings_exist() -> None:
    """Without recordings every test above would pass."""
    assert any(scenario.root.name == "fixtures" for scenario in SCENARIOS)
    assert os.environ.get("CDC_SHARED") is None or SHARED.is_dir()
