"""The parser against recordings of real nodes: Cassandra's own answers, and the plain reader."""

import os
import shutil
from pathlib import Path

import pytest

import commitlog
from agent.cdc_raw.idx import Idx, read_idx
from tests.oracle.reference import parse_schema, read_segment, to_line
from tests.oracle.reference.descriptor import read_descriptor
from tests.oracle.reference.recordings import GOLDEN, KEYSTORE, SHARED, Scenario, scenarios
from tests.oracle.reference.sections import read_sections
from tests.oracle.reference.segment import read_bytes
from tests.support.segments.segment_reading import dump, overwrite, reader_of, schema_of, unpacked

SCENARIOS = scenarios()
REPLAYED = [
    scenario
    for scenario in SCENARIOS
    if scenario.folder.parent.name.endswith("kill9-lz4") and scenario.folder.name[0] in "23"
]
SNAPSHOTS = sorted((SHARED / "fixtures").rglob("snap-*/CommitLog-*.log.gz"))

# Folder, cells and hash as published beside the segments (Cassandra's CommitLogUpgradeTest).
GOLDEN_SEGMENTS = [
    ("3.0.13-encrypted", 1404, -576744414),
    ("3.0.29-encrypted", 98, -325801478),
    ("3.4-encrypted", 14561, 2026350947),
    ("4.0.11-encrypted", 355, -918027651),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_every_line_equals_cassandras_own(scenario: Scenario, tmp_path: Path) -> None:
    schema = schema_of(scenario)
    lines = []
    for path, name in scenario.segments():
        dumped = dump(unpacked(path, name, tmp_path), schema)
        assert dumped.gaps == []
        lines += dumped.lines
    assert lines == scenario.expected()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_no_segment_ends_before_the_position_that_its_index_names(
    scenario: Scenario, tmp_path: Path
) -> None:
    for path, name in scenario.segments():
        index = path.with_name(f"{Path(name).stem}_cdc.idx")
        if not index.exists():
            continue
        segment = unpacked(path, name, tmp_path)
        assert gaps_by_index(segment, read_idx(index)) == []


@pytest.mark.parametrize("scenario", REPLAYED, ids=str)
def test_a_replayed_segment_of_blocks_that_is_cut_or_zeroed_has_a_gap(
    scenario: Scenario, tmp_path: Path
) -> None:
    """Beside COMPLETED stands the length of the file; the logical end is larger."""
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
    """The gaps of a final segment that has this index."""
    reader = reader_of(segment)
    end, number = idx.synced_end(segment.stat().st_size), idx.completed_at or 0
    while not (seen := reader.verify(expected_end=end, completed_at=number)).done:
        pass
    return seen.gaps


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_the_plain_reader_agrees(scenario: Scenario, tmp_path: Path) -> None:
    plain_schema = parse_schema((scenario.folder / "schema.cql").read_text(encoding="utf-8"))
    schema = schema_of(scenario)
    keys = scenario.keys()
    for path, name in scenario.segments():
        ours = dump(unpacked(path, name, tmp_path), schema).lines
        assert ours == [
            to_line(update) for update in read_segment(path, name, plain_schema, keys=keys)
        ]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_every_record_end_is_a_place_to_resume(scenario: Scenario, tmp_path: Path) -> None:
    schema = schema_of(scenario)
    for path, name in scenario.segments():
        segment = unpacked(path, name, tmp_path)
        lines = dump(segment, schema).lines
        ends = sorted({line["pos"] for line in lines})
        for end in ends[:: max(1, len(ends) // 25)]:
            rest = dump(segment, schema, position=end)
            assert rest.gaps == []
            assert rest.lines == [line for line in lines if line["pos"] > end]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_the_size_of_a_chunk_changes_nothing(scenario: Scenario, tmp_path: Path) -> None:
    schema = schema_of(scenario)
    for path, name in scenario.segments():
        segment = unpacked(path, name, tmp_path)
        assert dump(segment, schema, max_bytes=1).lines == dump(segment, schema).lines


@pytest.mark.parametrize("path", SNAPSHOTS, ids=lambda path: f"{path.parts[-3]}-{path.parts[-2]}")
def test_a_live_segment_is_read_up_to_its_index_file(path: Path, tmp_path: Path) -> None:
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


@pytest.mark.parametrize(("folder", "cells", "expected_hash"), GOLDEN_SEGMENTS)
def test_golden_segments(folder: str, cells: int, expected_hash: int, tmp_path: Path) -> None:
    if not GOLDEN.is_dir():
        pytest.skip(f"no golden segments at {GOLDEN}")
    properties = dict(
        line.split("=", 1)
        for line in (GOLDEN / folder / "hash.txt").read_text().splitlines()
        if "=" in line
    )
    schema = commitlog.Schema.from_cql(
        'CREATE TABLE "Keyspace1"."Standard1" (key ascii, col ascii, val blob, val0 blob,'
        f" PRIMARY KEY (key, col)) WITH ID = {properties['cfid'].strip()}"
    )
    found_cells = 0
    found_hash = 0
    shutil.copyfile(GOLDEN / KEYSTORE, tmp_path / KEYSTORE)
    for path in sorted((GOLDEN / folder).glob("CommitLog-*.log")):
        for line in dump(unpacked(path, path.name, tmp_path), schema).lines:
            for row in line["items"]:
                if row["t"] != "row" or not bytes.fromhex(row["ck"][0]).startswith(b"name"):
                    continue
                for cell in row["cells"]:
                    found_cells += 1
                    found_hash = _hash(found_hash, bytes.fromhex(cell["val"] or ""))
    assert (found_cells, found_hash) == (cells, expected_hash)


def _hash(value: int, data: bytes) -> int:
    shift = 0
    for byte in data:
        value = (value + (byte << shift)) & 0xFFFFFFFF
        shift = 0 if shift == 24 else shift + 8
    return value - (1 << 32) if value >> 31 else value


def test_recordings_are_there() -> None:
    """A clone without its own recordings would pass everything above."""
    assert any(scenario.root.name == "fixtures" for scenario in SCENARIOS)
    assert os.environ.get("CDC_SHARED") is None or SHARED.is_dir()


def test_scan_equals_dump(tmp_path: Path) -> None:
    for scenario in SCENARIOS:
        schema = schema_of(scenario)
        for path, name in scenario.segments():
            segment = unpacked(path, name, tmp_path)
            scan = reader_of(segment).scan(schema)
            lines = dump(segment, schema).lines
            rows = [row for line in lines for row in (line["static"], *line["items"]) if row]
            assert scan.updates >= len(lines)
            assert scan.cells == sum(len(row.get("cells", ())) for row in rows)


def test_segments_have_their_descriptors(tmp_path: Path) -> None:
    for scenario in SCENARIOS:
        for path, name in scenario.segments():
            descriptor = commitlog.read_descriptor(str(unpacked(path, name, tmp_path)))
            assert descriptor.segment == name
            assert name == f"CommitLog-{descriptor.version}-{descriptor.segment_id}.log"
            is_encrypted = (path.parent / KEYSTORE).exists()
            assert descriptor.encrypted == is_encrypted
            assert descriptor.key_alias == ("testing:1" if is_encrypted else None)
            assert descriptor.compression is None or descriptor.compression.endswith("Compressor")
            assert read_bytes(path)[:4] == descriptor.version.to_bytes(4, "big")
