"""Every event of every recording as Avro: fastavro reads the values of the JSON."""

from pathlib import Path

import pytest

from tests.oracle.reference.recordings import Scenario
from tests.support.avro.encodings import MODES, Encoding, cases, in_both
from tests.support.avro.reading import Ids
from tests.support.avro.recordings import check


@pytest.mark.parametrize(("scenario", "modes"), cases(*MODES))
def test_recorded_avro_values_equal_the_json_values(
    scenario: Scenario, modes: Encoding, tmp_path: Path
) -> None:
    ids = Ids()
    check(in_both(scenario, modes, ids, tmp_path), ids.both)
