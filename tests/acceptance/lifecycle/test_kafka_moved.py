"""An agent moves from one Kafka cluster to another: stop, change the address, start."""

import pytest

from tests.acceptance.faults.broker_harness import BrokerHarness, arrivals
from tests.acceptance.faults.situation import outcome_of
from tests.support.servers.kafka import KafkaBroker

pytestmark = pytest.mark.servers


def test_a_stop_delivers_to_the_old_cluster_and_repeats_nothing(
    brokers: tuple[KafkaBroker, KafkaBroker], empty: BrokerHarness
) -> None:
    old, new = brokers
    with empty.running(old.bootstrap):
        empty.feed()
        empty.feed_part()
        empty.wait_for_arrival(old)
    before = arrivals(old)
    assert before
    with empty.running(new.bootstrap):
        empty.feed_all()
        after = empty.wait_for_arrival(new, before=before)
    assert after
    outcome = outcome_of(empty.expected(), [*before, *after])
    assert (outcome.lost, outcome.invented, outcome.repeated) == (0, 0, 0)
    assert empty.recorded() == []
