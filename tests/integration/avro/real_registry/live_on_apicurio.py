"""Tests of a node and an agent with a real registry: the `registry` of this folder, which is killed
where the stand-in is away; `make registry`."""

import pytest

from tests.integration.avro import test_live as live

pytestmark = [pytest.mark.servers, pytest.mark.timeout(1800)]

node, agent = live.node, live.agent
test_a_registry_that_is_killed_loses_nothing = live.test_a_registry_that_goes_away_loses_nothing
test_a_table_that_is_altered_passes_backward = live.test_a_table_that_is_altered_passes_backward
test_a_table_made_anew_is_rejected = (
    live.test_a_table_made_anew_is_rejected_until_somebody_says_that_it_may_be
)
