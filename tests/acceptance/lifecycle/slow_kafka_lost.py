"""An agent moves to another Kafka cluster after the old one is lost."""

from pathlib import Path

import pytest

from tests.acceptance.faults.broker_harness import BrokerHarness, arrivals, create_topics
from tests.acceptance.faults.situation import outcome_of
from tests.support.servers.kafka import KafkaBroker

pytestmark = pytest.mark.servers


def test_events_unacknowledged_by_lost_kafka_reach_the_new_cluster(tmp_path: Path) -> None:
    """The old cluster stops first."""
    harness = BrokerHarness(tmp_path / "harness")
    with (
        KafkaBroker(tmp_path / "old", heap_mib=256) as old,
        KafkaBroker(tmp_path / "new", heap_mib=256) as new,
    ):
        for broker in (old, new):
            create_topics(broker, harness)
        with harness.running(old.bootstrap, {"shutdown.timeout.ms": 1000}):
            harness.feed()
            harness.wait_for_arrival(old)
            before = arrivals(old)
            old.stop()
            harness.feed()
            harness.wait_for_report("")
        with harness.running(new.bootstrap):
            harness.feed_all()
            after = harness.wait_for_arrival(new, before=before)
        outcome = outcome_of(harness.expected(), [*before, *after])
        assert (outcome.lost, outcome.invented, outcome.repeated) == (0, 0, 0)
