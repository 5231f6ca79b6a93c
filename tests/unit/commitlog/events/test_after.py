"""`after` against `cells` of the same event: two tellings of one change, on every recording."""

from pathlib import Path
from uuid import UUID

import pytest

import commitlog
from tests.oracle.reference import parse_schema
from tests.oracle.reference.recordings import Scenario
from tests.support.events.after_checks import check_after, static_columns
from tests.support.events.cells_checks import SCENARIOS, recorded_events

FORMAT = commitlog.EventFormat(topic_prefix="t", cluster="c", node_id="n", all_tables=True)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_after_equals_cells(scenario: Scenario, tmp_path: Path) -> None:
    text = (scenario.folder / "schema.cql").read_text(encoding="utf-8")
    tables = parse_schema(text).tables
    statics = static_columns(text)
    for events in recorded_events(scenario, tmp_path, FORMAT).values():
        for event in events:
            table_id = event.value["cells"]["id"]
            check_after(event, tables[UUID(table_id)], statics.get(table_id, set()))
