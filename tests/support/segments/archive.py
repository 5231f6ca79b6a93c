"""Recorded segments in a folder, as the agents of several nodes archive them."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import commitlog
from tests.oracle.reference.recordings import OWN, Scenario
from tests.oracle.reference.segment import read_bytes
from tests.support.segments.segment_reading import Event, events, schema_of, unpacked


def recording(name: str) -> Scenario:
    """`5.0/types`."""
    return Scenario(OWN, OWN / name)


def archive(scenarios: Mapping[str, Scenario], folder: Path) -> None:
    """Put the segments and indexes of each node into `<node>/archive`."""
    for node, scenario in scenarios.items():
        target = folder / node / "archive"
        target.mkdir(parents=True)
        for path, name in scenario.segments():
            (target / name).write_bytes(read_bytes(path))
        for index in scenario.folder.glob("*_cdc.idx"):
            shutil.copyfile(index, target / index.name)


AgentsEvent = tuple[bytes, int, str, dict[str, Any]]
"""Id, largest write time, kind, `cells`."""


def agents_events(scenario: Scenario, folder: Path) -> dict[str, list[AgentsEvent]]:
    """The events of the agent's reader, by table id."""
    schema = schema_of(scenario)
    event_format = commitlog.EventFormat(
        topic_prefix="t", cluster="c", node_id="n", counter_events="shards", all_tables=True
    )
    found: dict[str, list[AgentsEvent]] = {}
    for path, name in scenario.segments():
        for event in events(unpacked(path, name, folder), schema, event_format):
            found.setdefault(event.value["cells"]["id"], []).append(_parts(event))
    return found


def _parts(event: Event) -> AgentsEvent:
    headers = event.headers
    return (
        bytes.fromhex(headers["cdc.id"]),
        int(headers["cdc.ts_us"]),
        headers["cdc.kind"],
        event.value["cells"],
    )
