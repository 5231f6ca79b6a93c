"""The reader against recordings of real nodes and the answers of Cassandra's own reader."""

from collections import Counter
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.oracle.reference import UnsupportedSegmentError, parse_schema, read_segment, to_line
from tests.oracle.reference.descriptor import SEGMENT_NAME, read_descriptor
from tests.oracle.reference.model import Row, Update
from tests.oracle.reference.recordings import (
    GOLDEN,
    KEYSTORE,
    SHARED,
    Scenario,
    recorded_keys,
    scenarios,
)
from tests.oracle.reference.records import read_records
from tests.oracle.reference.schema import Schema, Table
from tests.oracle.reference.sections import read_sections
from tests.oracle.reference.segment import read_bytes
from tests.oracle.reference.values import read_element, read_key, read_value

SCENARIOS = scenarios()
SNAPSHOTS = sorted((SHARED / "fixtures").rglob("snap-*/CommitLog-*.log.gz"))

_NOTHING: Counter[str] = Counter()

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"no recordings at {SHARED}")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_every_line_equals_cassandras_own(scenario: Scenario) -> None:
    for number, (ours, theirs) in enumerate(zip_longest(scenario.read(), scenario.expected())):
        assert ours == theirs, f"update {number} of {scenario}"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_every_value_has_the_form_of_its_type(scenario: Scenario) -> None:
    schema = parse_schema((scenario.folder / "schema.cql").read_text(encoding="utf-8"))
    keys = scenario.keys()
    for path, name in scenario.segments():
        for update in read_segment(path, name, schema, keys=keys):
            partition = update.partition
            read_key(partition.table.partition_key, partition.key)
            for item in (partition.static, *partition.items):
                if item is None:
                    continue
                pairs = zip(partition.table.clustering, item.clustering or (), strict=False)
                for cql_type, value in pairs:
                    if value is not None:
                        read_value(cql_type, value)
                if isinstance(item, Row):
                    _read_cells(partition.table, item)


def _read_cells(table: Table, row: Row) -> None:
    for cell in row.cells:
        cql_type = table.columns[cell.column]
        if cell.path is not None:
            read_element(cql_type, cell.path, cell.value)  # type: ignore[arg-type]
        elif cell.value is not None:
            read_value(cql_type, cell.value)


@needs_shared
@pytest.mark.parametrize("path", SNAPSHOTS, ids=lambda p: f"{p.parts[-3]}/{p.parts[-2]}/{p.name}")
def test_a_live_segment_gives_a_beginning_of_the_final_one(path: Path) -> None:
    name = path.name.removesuffix(".gz")
    schema = parse_schema((path.parents[1] / "schema.cql").read_text(encoding="utf-8"))
    live = list(read_segment(path, name, schema))
    final_path = path.parents[1] / path.name
    final = list(read_segment(final_path, name, schema)) if final_path.exists() else []
    assert live == final[: len(live)]

    data = read_bytes(path)
    ends = [section.end for section in read_sections(data, read_descriptor(data, name))]
    index = path.with_name(name.removesuffix(".log") + "_cdc.idx")
    if index.exists():
        assert int(index.read_text().split()[0]) in ends


@needs_shared
@pytest.mark.parametrize(
    "folder", ["3.0.13-encrypted", "3.0.29-encrypted", "3.4-encrypted", "4.0.11-encrypted"]
)
def test_golden_segments_have_the_published_cells(folder: str) -> None:
    """All but that of 3.4 are plain, in spite of the folder's name."""
    published = _published(GOLDEN / folder)
    updates = list(_read_golden(GOLDEN / folder, _golden_schema(published["cfid"])))
    values = [
        cell.value or b""
        for update in updates
        if update.partition.table.name == "Standard1"
        for item in update.partition.items
        if isinstance(item, Row) and item.clustering and _is_name(item.clustering[0])
        for cell in item.cells
    ]
    assert len(values) == int(published["cells"])
    assert _content_hash(values) == int(published["hash"])


@needs_shared
def test_compact_storage_has_a_hidden_column_without_a_value() -> None:
    folder = GOLDEN / "3.0.29-encrypted"
    schema = _golden_schema(_published(folder)["cfid"])
    rows = [
        line["items"]
        for line in map(to_line, _read_golden(folder, schema))
        if line["table"] == "IndexInfo"
    ]
    assert rows
    assert {(c["col"], c["val"]) for (row,) in rows for c in row["cells"]} == {("value", "")}


@needs_shared
@pytest.mark.parametrize(
    ("folder", "records"), [("2.2", 6449), ("2.2-lz4", 6134), ("2.2-snappy", 6133)]
)
def test_the_framing_of_version_5_is_the_same(folder: str, records: int) -> None:
    found = 0
    for path in sorted((GOLDEN / folder).glob("*.log")):
        data = path.read_bytes()
        for section in read_sections(data, read_descriptor(data, path.name)):
            found += sum(1 for _ in read_records(section, path.name, skipped=_NOTHING))
        with pytest.raises(UnsupportedSegmentError, match="version 5"):
            list(read_segment(path, path.name, Schema()))
    assert found == records
    assert not _NOTHING


def _is_name(value: bytes | None) -> bool:
    return value is not None and value.startswith(b"name")


def _published(folder: Path) -> dict[str, str]:
    lines = (folder / "hash.txt").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def _golden_schema(standard1_id: str) -> Schema:
    return parse_schema(
        f"""
        CREATE TABLE "Keyspace1"."Standard1" (
            key ascii, col ascii, val blob, val0 blob, PRIMARY KEY (key, col)
        ) WITH ID = {standard1_id};
        CREATE TABLE system."IndexInfo" (
            table_name text, index_name text, PRIMARY KEY (table_name, index_name)
        ) WITH COMPACT STORAGE AND ID = 9f5c6374-d485-3229-9a0a-5094af9ad1e3;
        """
    )


def _read_golden(folder: Path, schema: Schema) -> Iterable[Update]:
    for path in sorted(folder.glob("*.log")):
        assert SEGMENT_NAME.fullmatch(path.name)
        keys = recorded_keys(GOLDEN / KEYSTORE)
        yield from read_segment(path, path.name, schema, keys=keys)


def _content_hash(values: Iterable[bytes]) -> int:
    """The sum of all bytes, each shifted by its place modulo 4, as a wrapping 32-bit number."""
    total = sum(byte << 8 * (i % 4) for value in values for i, byte in enumerate(value))
    return (total + (1 << 31)) % (1 << 32) - (1 << 31)
