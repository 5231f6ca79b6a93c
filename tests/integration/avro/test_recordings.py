"""Every event of every recording as Avro: what fastavro reads is what the JSON says."""

from pathlib import Path

import pytest

from tests.oracle.reference.recordings import Scenario
from tests.support.avro.encodings import MODES, SCENARIOS, Encoding, in_both, is_of_types
from tests.support.avro.reading import Ids
from tests.support.avro.recordings import check


@pytest.mark.parametrize(
    ("scenario", "modes"),
    [
        *((scenario, {}) for scenario in SCENARIOS),
        *((scenario, modes) for scenario in SCENARIOS for modes in MODES if is_of_types(scenario)),
    ],
    ids=str,
)
def test_avro_values_equal_the_json_values(
    scenario: Scenario, modes: Encoding, tmp_path: Path
) -> None:
    ids = Ids()
    for avro, plain in in_both(scenario, modes, ids, tmp_path):
        check(ids, avro, plain)
