"""The schema read from the log itself, compared with recordings of real nodes.

The log of Cassandra 6.0 contains the epochs of its cluster metadata."""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.cdc_raw.names import parse_log_name
from commitlog import MetadataLogEntry, Schema, SchemaChanges
from tests.oracle.reference.recordings import OWN, SHARED, Scenario, rows, scenarios
from tests.oracle.reference.segment import read_bytes
from tests.support.segments.recorded_segments import known_events, packed_segments
from tests.support.segments.schema_stream import NOTHING, changes_in, dumped
from tests.support.workloads import epochs

READABLE = [scenario for scenario in scenarios() if "encrypted" not in scenario.folder.name]
CHURN = [scenario for scenario in READABLE if "churn" in scenario.folder.name]


def unpacked(scenario: Scenario, folder: Path) -> list[Path]:
    paths = []
    for path, name in scenario.segments():
        target = folder / name
        target.write_bytes(read_bytes(path))
        paths.append(target)
    return paths


def of_tables(lines: Sequence[dict[str, Any]], ids: set[str]) -> list[dict[str, Any]]:
    return [line for line in lines if line["id"] in ids]


@pytest.mark.parametrize("scenario", rows(READABLE))
def test_tables_created_in_log_need_no_schema_feeder(scenario: Scenario, tmp_path: Path) -> None:
    expected = scenario.expected()
    read = dumped(unpacked(scenario, tmp_path), NOTHING)
    known = {table.id for table in read.schema.tables()}
    assert of_tables(read.lines, {line["id"] for line in expected}) == of_tables(expected, known)
    # Tables of a later stage were created in an earlier segment.
    if scenario.folder.name in ("types", "collections", "deletions", "ttl", "views"):
        assert {line["id"] for line in expected} <= known


@pytest.mark.parametrize("scenario", CHURN, ids=str)
def test_schema_churn_is_order_independent(
    scenario: Scenario, tmp_path_factory: pytest.TempPathFactory
) -> None:
    segments = unpacked(scenario, tmp_path_factory.mktemp("segments"))
    expected = scenario.expected()
    ids = {line["id"] for line in expected}
    changes = changes_in(segments)
    said: list[Schema | SchemaChanges] = [*changes]
    # The schema as a node returned it at each stage; the last stage is the complete text.
    for stage in sorted(scenario.folder.glob("schema-*.cql")):
        text = stage.read_text(encoding="utf-8")
        said.append(Schema.from_cql(text, seen_at_us=STAGES[stage.stem]))
    whole = together(said)

    @settings(max_examples=60, deadline=None)
    @given(st.permutations(said))
    def check(order: list[Schema | SchemaChanges]) -> None:
        assert together(order) == whole

    check()
    assert of_tables(dumped(segments, whole, follow=False).lines, ids) == expected
    assert dumped(segments, whole).schema == whole


def together(said: Sequence[Schema | SchemaChanges]) -> Schema:
    schema = NOTHING
    for each in said:
        schema = schema.merged(each) if isinstance(each, Schema) else schema.with_changes(each)
    return schema


# Times of the recording's stages, between its statements.
STAGES = {
    "schema-1-start": 1_795_278_809_200_000,
    "schema-2-added": 1_795_278_811_000_000,
    "schema-3-dropped": 1_795_278_812_300_000,
    "schema-4-readded": 1_795_278_812_900_000,
    "schema-5-udt": 1_795_278_813_400_000,
    "schema-6-before-drop-table": 1_795_278_813_600_000,
    "schema-7-end": 1_795_278_820_000_000,
}


@pytest.mark.skipif(not SHARED.is_dir(), reason="the further recordings are not there")
def test_recordings_of_schema_churn_exist() -> None:
    assert CHURN


STEPS = (*epochs.FIRST_RUN, *epochs.SECOND_RUN)


def unpacked_to(folder: Path, target: Path) -> list[Path]:
    paths = []
    for packed in packed_segments(folder):
        path = target / packed.name.removesuffix(".gz")
        path.write_bytes(read_bytes(packed))
        paths.append(path)
    return paths


@pytest.fixture
def segments(tmp_path: Path) -> list[Path]:
    return unpacked_to(OWN / "6.0" / "epochs", tmp_path)


def entries_in(segments: Sequence[Path]) -> list[MetadataLogEntry]:
    return [entry for changes in changes_in(segments) for entry in changes.entries]


def rows_of(segments: Sequence[Path], schema: Schema) -> tuple[list[dict[str, Any]], Schema]:
    """The columns with a value in each event, and the final schema."""
    rows = []
    for segment in segments:
        name = parse_log_name(segment.name)
        assert name is not None
        events, schema = known_events(segment, name, schema)
        for event in events:
            assert event[2] is not None
            after = json.loads(event[2])["after"]
            rows.append({column: cell["value"] for column, cell in after.items() if cell})
    return rows, schema


EXPECTED = [dict(step.row) for step in STEPS]


def test_each_ddl_statement_is_entry_with_next_epoch(segments: list[Path]) -> None:
    found = entries_in(segments)
    assert all(after.epoch == before.epoch + 1 for before, after in pairwise(found))
    assert [entry.error for entry in found if entry.error is not None] == []
    texts = {entry.cql: entry.keyspace for entry in found if entry.cql is not None}
    for step in STEPS[1:]:
        assert texts[step.ddl] == epochs.KEYSPACE


def test_created_table_entry_lists_every_option(segments: list[Path]) -> None:
    (created,) = (e.cql for e in entries_in(segments) if (e.cql or "").startswith("CREATE TABLE"))
    assert created is not None and f"CREATE TABLE {epochs.KEYSPACE}.t (" in created
    assert "cdc = true" in created and "fast_path" in created


def test_rows_are_decoded_from_log_alone(segments: list[Path]) -> None:
    rows, _ = rows_of(segments, NOTHING)
    assert rows == EXPECTED


def test_rows_stay_equal_with_all_definitions_known(segments: list[Path]) -> None:
    """Simulates a requeued segment, which is read after later schema changes."""
    _, schema = rows_of(segments, NOTHING)
    again, same = rows_of(segments, schema)
    assert again == EXPECTED
    stored = Schema.from_stored(same.to_stored())
    assert stored == same
    for segment in reversed(segments):
        rows, stored = rows_of([segment], stored)
        assert all(row in EXPECTED for row in rows)


def test_schema_file_and_log_agree(segments: list[Path]) -> None:
    """The file has no epochs; it is the schema after the last statement."""
    text = (OWN / "6.0" / "epochs" / "schema.cql").read_text(encoding="utf-8")
    schema = Schema.from_cql(text, seen_at_us=1_900_000_000_000_000)
    rows, schema = rows_of(segments, schema)
    by_key = {row["p"]: row for row in rows}
    # Before the first definition in the log, the definitions of the file apply.
    assert set(by_key) == {step.row["p"] for step in STEPS}
    again, _ = rows_of(segments, schema)
    assert again == EXPECTED


def test_log_since_restart_is_sufficient(segments: list[Path]) -> None:
    """The segment begins with the rows of the whole schema, which have no entry."""
    rows, schema = rows_of(segments[1:], NOTHING)
    assert rows == EXPECTED[len(epochs.FIRST_RUN) :]
    again, _ = rows_of(segments[1:], schema)
    assert again == rows


def test_auto_repair_columns_do_not_hide_table(tmp_path: Path) -> None:
    """`system_schema.tables` has the column `auto_repair` only with a certain setting of the
    node."""
    segments = unpacked_to(OWN / "5.0-none" / "auto-repair", tmp_path)
    read = dumped(segments, NOTHING)
    assert [(table.keyspace, table.name, table.cdc) for table in read.schema.tables()] == [
        ("repaired", "t", True)
    ]
    rows, _ = rows_of(segments, NOTHING)
    assert rows == [{"p": 1, "v": "one"}, {"p": 2, "v": "two", "w": 2}, {"p": 3, "w": 3}]
