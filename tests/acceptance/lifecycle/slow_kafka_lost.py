"""An agent moves to another Kafka cluster after the old one is lost."""

import pytest

from tests.acceptance.faults.broker_harness import BrokerHarness, arrivals
from tests.acceptance.faults.situation import outcome_of
from tests.support.servers.kafka import KafkaBroker

pytestmark = pytest.mark.servers


def test_a_lost_cluster_loses_only_what_it_acknowledged(
    brokers: tuple[KafkaBroker, KafkaBroker], empty: BrokerHarness
) -> None:
    """The old cluster stops first. Events that it did not acknowledge arrive at the new one."""
    old, new = brokers
    with empty.running(old.bootstrap, {"shutdown.timeout.ms": 1000}):
        empty.feed()
        empty.wait_for_arrival(old)
        before = arrivals(old)
        old.stop()
        empty.feed()
        empty.wait_for_report("")
    try:
        with empty.running(new.bootstrap):
            empty.feed_all()
            after = empty.wait_for_arrival(new, before=before)
        outcome = outcome_of(empty.expected(), [*before, *after])
        assert (outcome.lost, outcome.invented, outcome.repeated) == (0, 0, 0)
    finally:
        old.start()
