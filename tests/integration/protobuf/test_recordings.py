"""Recorded events as Protobuf, read by Google's library and compared with their JSON."""

from itertools import islice
from pathlib import Path

import pytest

from tests.oracle.reference.recordings import Scenario
from tests.support.avro.encodings import MODES, Encoding, cases, in_both, is_of_types
from tests.support.avro.recordings import check
from tests.support.protobuf.reading import ProtobufIds

# Number of events from each recording that does not test types.
SOME = 400


@pytest.mark.parametrize(
    ("scenario", "modes"), cases(*MODES, {"cells": False, "layout": "debezium-1.x"})
)
def test_recorded_protobuf_values_equal_the_json_values(
    scenario: Scenario, modes: Encoding, tmp_path: Path
) -> None:
    ids = ProtobufIds()
    pairs = in_both(scenario, modes, ids, tmp_path, encoding="protobuf")
    read = check(pairs if is_of_types(scenario) else islice(pairs, SOME), ids.both)
    assert read > 0 or not scenario.segments()
