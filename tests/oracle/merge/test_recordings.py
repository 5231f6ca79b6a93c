"""The laws of merging, for events of recorded segments."""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.algebra.tables import Tables
from tests.oracle.reference.recordings import SHARED, Scenario, scenarios
from tests.support.segments.merged_recordings import read, seconds
from tests.support.segments.segment_reading import Event

SCENARIOS = scenarios()
SEED = 20
STAGED = sorted(
    {each.folder.parent for each in SCENARIOS if each.folder.parent.name.startswith("f17-kill9")}
)
THREE_NODES = sorted((SHARED / "fixtures").rglob("three-nodes"))


def merged(found: Iterable[Event]) -> Tables:
    tables = Tables()
    for event in found:
        tables.apply(event.value)
    return tables


def shown(tables: Tables, at_s: Iterable[int]) -> dict[tuple[str, int], list[Any]]:
    """All rows, in order."""
    return {
        (table_id, now_s): [
            (key, table.clustering(key), row) for key, row in table.rows(now_s).items()
        ]
        for table_id, table in tables.by_id.items()
        for now_s in at_s
    }


def sources(found: Iterable[Event]) -> dict[str, str]:
    """The event id by its source."""
    return {event.headers["cdc.source"]: event.headers["cdc.id"] for event in found}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_order_batches_and_repetitions_do_not_matter(scenario: Scenario, tmp_path: Path) -> None:
    found = read(scenario, tmp_path)
    at_s = seconds(found)
    expected = shown(merged(found), at_s)
    generator = random.Random(SEED)
    twice = found + found[len(found) // 2 :]
    generator.shuffle(twice)
    assert shown(merged(twice), at_s) == expected
    assert shown(merged([*found, *found]), at_s) == expected
    assert shown(merged(reversed(found)), at_s) == expected


@pytest.mark.parametrize("folder", STAGED, ids=lambda folder: folder.name)
def test_a_killed_node_repeats_equal_events(folder: Path, tmp_path: Path) -> None:
    """Events from before the restart keep their ids, and reading them twice changes nothing."""
    stages = [
        read(scenario, tmp_path) for scenario in SCENARIOS if scenario.folder.parent == folder
    ]
    assert len(stages) == 3
    assert sources(stages[0]).items() <= sources(stages[1]).items() <= sources(stages[2]).items()
    at_s = seconds(stages[2])
    together = [event for stage in stages for event in stage]
    assert shown(merged(together), at_s) == shown(merged(stages[2]), at_s)


@pytest.mark.parametrize("folder", THREE_NODES, ids=lambda folder: folder.name)
def test_every_replica_has_the_same_table(folder: Path, tmp_path: Path) -> None:
    logs = [read(scenario, tmp_path) for scenario in SCENARIOS if scenario.folder.parent == folder]
    assert len(logs) == 3
    at_s = seconds(logs[0])
    together = shown(merged(event for log in logs for event in log), at_s)
    for log in logs:
        assert shown(merged(log), at_s) == together
