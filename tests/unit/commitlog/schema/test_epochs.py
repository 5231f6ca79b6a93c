"""Cluster metadata of Cassandra 6.0 in the log, by a recording of a real node."""

from itertools import pairwise
from pathlib import Path

import pytest

from commitlog import MetadataLogEntry
from tests.oracle.reference.recordings import OWN
from tests.oracle.reference.segment import read_bytes
from tests.support.recorded_segments import packed_segments
from tests.support.schema_stream import changes_in
from tests.support.workloads import epochs

FOLDER = OWN / "6.0" / "epochs"


@pytest.fixture
def segments(tmp_path: Path) -> list[Path]:
    paths = []
    for packed in packed_segments(FOLDER):
        target = tmp_path / packed.name.removesuffix(".gz")
        target.write_bytes(read_bytes(packed))
        paths.append(target)
    return paths


def entries_in(segments: list[Path]) -> list[MetadataLogEntry]:
    return [entry for changes in changes_in(segments) for entry in changes.entries]


def test_each_statement_is_an_entry_with_its_epoch(segments: list[Path]) -> None:
    found = entries_in(segments)
    assert all(after.epoch == before.epoch + 1 for before, after in pairwise(found))
    assert [entry.error for entry in found if entry.error is not None] == []
    texts = {entry.cql: entry.keyspace for entry in found if entry.cql is not None}
    for step in (*epochs.FIRST_RUN[1:], *epochs.SECOND_RUN):
        assert texts[step.ddl] == epochs.KEYSPACE


def test_a_created_table_has_every_option(segments: list[Path]) -> None:
    (created,) = (e.cql for e in entries_in(segments) if (e.cql or "").startswith("CREATE TABLE"))
    assert created is not None and f"CREATE TABLE {epochs.KEYSPACE}.t (" in created
    assert "cdc = true" in created and "fast_path" in created
