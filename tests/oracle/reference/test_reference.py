"""The reader against recordings of real nodes and the answers of Cassandra's own reader."""

from itertools import zip_longest

import pytest

from tests.oracle.reference.recordings import Scenario, rows, scenarios


@pytest.mark.parametrize("scenario", rows(scenarios(), is_whole=True))
def test_every_line_equals_cassandras_own(scenario: Scenario) -> None:
    for number, (ours, theirs) in enumerate(zip_longest(scenario.read(), scenario.expected())):
        assert ours == theirs, f"update {number} of {scenario}"
