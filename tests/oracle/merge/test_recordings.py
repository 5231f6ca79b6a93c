"""The laws of merging, for events of recorded segments."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.algebra.tables import Tables
from tests.oracle.reference.recordings import OWN, scenarios
from tests.support.segments.merged_recordings import read, seconds
from tests.support.segments.segment_reading import Event

SCENARIOS = scenarios()


def folders(name: str) -> list[Any]:
    """Folders of several recordings; those outside the repository are slow."""
    found = sorted({each.folder.parent for each in SCENARIOS if name in each.folder.parent.name})
    slow = pytest.mark.slow
    return [pytest.param(f, id=str(f), marks=() if f.is_relative_to(OWN) else slow) for f in found]


def events_of(folder: Path, scratch: Path) -> list[list[Event]]:
    """Events of each stage or node."""
    found = [read(each, scratch) for each in SCENARIOS if each.folder.parent == folder]
    assert len(found) == 3
    return found


def shown(found: Iterable[Event], at_s: Iterable[int]) -> dict[tuple[str, int], list[Any]]:
    """All rows of the merged events, in order."""
    tables = Tables()
    for event in found:
        tables.apply(event.value)
    return {
        (table_id, now_s): [
            (key, table.clustering(key), row) for key, row in table.rows(now_s).items()
        ]
        for table_id, table in tables.by_id.items()
        for now_s in at_s
    }


def sources(found: Iterable[Event]) -> dict[str, str]:
    """Event id by its source."""
    return {event.headers["cdc.source"]: event.headers["cdc.id"] for event in found}


@pytest.mark.parametrize("folder", folders("kill9"))
def test_killed_node_repeats_equal_events(folder: Path, tmp_path: Path) -> None:
    """Events from before the restart keep their ids, and reading them twice changes nothing."""
    first, second, third = events_of(folder, tmp_path)
    assert sources(first).items() <= sources(second).items() <= sources(third).items()
    at_s = seconds(third)
    assert shown([*first, *second, *third], at_s) == shown(third, at_s)


@pytest.mark.parametrize("folder", folders("three-nodes"))
def test_merged_tables_of_all_replicas_are_equal(folder: Path, tmp_path: Path) -> None:
    logs = events_of(folder, tmp_path)
    at_s = seconds(logs[0])
    together = shown([event for log in logs for event in log], at_s)
    for log in logs:
        assert shown(log, at_s) == together
