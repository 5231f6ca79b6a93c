"""Recorded events as Protobuf, read by Google's library, against the JSON of the same events."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.reference.recordings import Scenario
from tests.support.avro.encodings import MODES, SCENARIOS, is_of_types
from tests.support.avro.reading import differences
from tests.support.protobuf.reading import ProtobufIds, in_both

TYPES = [scenario for scenario in SCENARIOS if is_of_types(scenario)]
CASES: list[tuple[Scenario, dict[str, Any]]] = [
    *((scenario, {}) for scenario in SCENARIOS),
    *((scenario, dict(modes)) for scenario in TYPES for modes in MODES),
    *((scenario, {"cells": False, "layout": "debezium-1.x"}) for scenario in TYPES),
]


@pytest.mark.parametrize(("scenario", "modes"), CASES, ids=str)
def test_a_message_means_what_its_json_says(
    scenario: Scenario, modes: dict[str, Any], tmp_path: Path
) -> None:
    ids = ProtobufIds()
    read = 0
    for ours, other in in_both(scenario, modes, ids, tmp_path):
        expected = json.loads(other.value)
        value = ids.decoded(ours.value)
        # The clock of the reader.
        del value["ts_ms"], expected["ts_ms"]
        if "layout" in modes:
            for side in ("_range_start", "_range_end"):
                expected["after"].setdefault(side, None)
        found = [
            *differences(ids.decoded(ours.key), json.loads(other.key)),
            *differences(value, expected),
        ]
        assert not found, found[:5]
        assert (ours.topic, ours.headers) == (other.topic, other.headers)
        read += 1
        if read > 400 and not is_of_types(scenario):
            break
    assert read > 0 or not list(scenario.segments())
