"""The schema out of the log itself, against recordings of real nodes and Cassandra's answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitlog import Schema, SchemaChanges
from tests.oracle.reference.recordings import SHARED, Scenario, rows, scenarios
from tests.oracle.reference.segment import read_bytes
from tests.support.segments.schema_stream import NOTHING, changes_in, dumped

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
def test_tables_made_in_the_log_need_no_feeder(scenario: Scenario, tmp_path: Path) -> None:
    expected = scenario.expected()
    read = dumped(unpacked(scenario, tmp_path), NOTHING)
    known = {table.id for table in read.schema.tables()}
    assert of_tables(read.lines, {line["id"] for line in expected}) == of_tables(expected, known)
    # Those of a later stage were made in an earlier segment.
    if scenario.folder.name in ("types", "collections", "deletions", "ttl", "views"):
        assert {line["id"] for line in expected} <= known


@pytest.mark.parametrize("scenario", CHURN, ids=str)
def test_churn_in_any_order_of_feeders_and_log(
    scenario: Scenario, tmp_path_factory: pytest.TempPathFactory
) -> None:
    segments = unpacked(scenario, tmp_path_factory.mktemp("segments"))
    expected = scenario.expected()
    ids = {line["id"] for line in expected}
    changes = changes_in(segments)
    said: list[Schema | SchemaChanges] = [*changes]
    # The schema as a node answered at some stage; the last stage is the whole text.
    for stage in sorted(scenario.folder.glob("schema-*.cql")):
        text = stage.read_text(encoding="utf-8")
        said.append(Schema.from_cql(text, seen_at_us=STAGES[stage.stem]))
    whole = together(said)

    @settings(max_examples=60, deadline=None)
    @given(st.permutations(said))
    def check(order: list[Schema | SchemaChanges]) -> None:
        assert together(order) == whole

    check()
    read = dumped(segments, whole, follow=False)
    assert of_tables(read.lines, ids) == expected
    assert dumped(segments, whole).schema == whole


def together(said: Sequence[Schema | SchemaChanges]) -> Schema:
    schema = NOTHING
    for each in said:
        schema = schema.merged(each) if isinstance(each, Schema) else schema.with_changes(each)
    return schema


# When the stages of the recording were, between its statements.
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
def test_there_is_churn() -> None:
    assert CHURN
