"""Recorded events in an encoding and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

import commitlog
from tests.oracle.reference.recordings import Scenario, scenarios
from tests.support.avro.reading import Ids, Message, messages
from tests.support.segments.segment_reading import schema_of, unpacked

SCENARIOS = scenarios()
Encoding = dict[str, Any]
# Recordings of one release with all that an event can have; the others have the same in files of
# other releases, compressed or encrypted.
_CONTENTS = {
    f"tests/5.0/{name}"
    for name in (
        *("batches", "collections", "counters", "counter-shards/node1", "deletions", "live"),
        *("random", "timestamps", "transactions", "ttl", "types", "views", "wide"),
    )
} | {"tests/3.11/mixed", "tests/6.0/constraints"}

MODES: tuple[Encoding, ...] = (
    {"decimal": "precise", "varint": "precise", "duration": "precise"},
    {"decimal": "string", "varint": "string", "duration": "string", "names": "avro_unicode"},
)


def is_of_types(scenario: Scenario) -> bool:
    """Whether values of every type are in it."""
    return scenario.folder.name == "types"


TYPES = [scenario for scenario in SCENARIOS if is_of_types(scenario)]


def cases(*all_types: Encoding, all_events: Sequence[Encoding] = ({},)) -> list[ParameterSet]:
    """Rows of a scenario and modes: each in `all_events`, those of every type in `all_types` too.
    What has events like those of another recording is slow."""
    rows = [(scenario, modes) for scenario in SCENARIOS for modes in all_events]
    rows += [(scenario, modes) for scenario in TYPES for modes in all_types]
    return [
        pytest.param(
            scenario,
            dict(modes),
            marks=() if str(scenario) in _CONTENTS else pytest.mark.slow,
            id=" ".join(map(str, (scenario, *modes.values()))),
        )
        for scenario, modes in rows
    ]


def format_of(*, topic_prefix: str = "a-b.c", **choices: object) -> commitlog.EventFormat:
    return commitlog.EventFormat(
        topic_prefix=topic_prefix,
        cluster="cluster",
        node_id="node",
        counter_events="shards",
        all_tables=True,
        **choices,  # type: ignore[arg-type]  # what a test says
    )


def in_both(
    scenario: Scenario,
    modes: Mapping[str, Any],
    ids: Ids | None,
    tmp_path: Path,
    prefix: str = "a-b.c",
    encoding: str = "avro",
) -> Iterator[tuple[Message, Message]]:
    """Each recorded event, in an encoding and in JSON with the same names."""
    schema = schema_of(scenario)
    registered: dict[str, Any] = {} if ids is None else {"schema_ids": ids.ids}
    names = {} if ids is None else {"names": modes.get("names", "avro")}
    as_json = format_of(topic_prefix=prefix, **{**modes, **names})
    encoded = format_of(topic_prefix=prefix, **modes, key=encoding, value=encoding, **registered)
    for path, name in scenario.segments():
        segment = unpacked(path, name, tmp_path)
        yield from zip(
            messages(segment, schema, encoded, ids, max_events=500),
            messages(segment, schema, as_json),
            strict=True,
        )
