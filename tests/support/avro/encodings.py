"""Recorded events as JSON and as Avro."""

from collections.abc import Iterator
from pathlib import Path

import commitlog
from tests.oracle.reference.recordings import Scenario, scenarios
from tests.support.avro.reading import Ids, Message, messages
from tests.support.segments.segment_reading import schema_of, unpacked

SCENARIOS = scenarios()
Encoding = dict[str, str]


MODES: tuple[Encoding, ...] = (
    {"decimal": "precise", "varint": "precise", "duration": "precise"},
    {"decimal": "string", "varint": "string", "duration": "string", "names": "avro_unicode"},
)


def is_of_types(scenario: Scenario) -> bool:
    """Whether values of every type are in it."""
    return scenario.folder.name == "types"


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
    scenario: Scenario, modes: Encoding, ids: Ids, tmp_path: Path, prefix: str = "a-b.c"
) -> Iterator[tuple[Message, Message]]:
    """Each recorded event, in Avro and in JSON."""
    schema = schema_of(scenario)
    in_json = {**modes, "names": modes.get("names", "avro")}
    as_json = format_of(topic_prefix=prefix, **in_json)
    as_avro = format_of(topic_prefix=prefix, **modes, key="avro", value="avro", schema_ids=ids.ids)
    for path, name in scenario.segments():
        segment = unpacked(path, name, tmp_path)
        yield from zip(
            messages(segment, schema, as_avro, ids, max_events=500),
            messages(segment, schema, as_json),
            strict=True,
        )
