"""The reference reader against Cassandra's own reader, on recordings of real nodes."""

from itertools import zip_longest

import pytest

from tests.oracle.reference.recordings import Scenario, rows, scenarios


@pytest.mark.parametrize("scenario", rows(scenarios(), is_whole=True))
def test_reference_reader_equals_the_reader_of_cassandra(scenario: Scenario) -> None:
    for number, (ours, theirs) in enumerate(zip_longest(scenario.read(), scenario.expected())):
        assert ours == theirs, f"update {number} of {scenario}"
