"""Recorded events of all replicas, for the merge."""

from collections.abc import Iterable
from pathlib import Path

from tests.oracle.reference.recordings import Scenario
from tests.support.segments.segment_reading import Event, events, schema_of, unpacked


def read(scenario: Scenario, folder: Path) -> list[Event]:
    """All events of a scenario."""
    schema = schema_of(scenario)
    return [
        event
        for path, name in scenario.segments()
        for event in events(unpacked(path, name, folder), schema)
    ]


def seconds(found: Iterable[Event]) -> list[int]:
    """Around the moments at which something expires: the first, a middle one and the last."""
    ends = sorted(
        {
            member["ldt"]
            for event in found
            for member in (
                *event.value["cells"].get("cell", ()),
                event.value["cells"].get("live", {}),
            )
            if "ttl" in member
        }
    )
    chosen = {*ends[:1], *ends[len(ends) // 2 :][:1], *ends[-1:]} or {0}
    return sorted(chosen | {end - 1 for end in chosen})
