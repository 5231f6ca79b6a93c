"""An agent moves from one Kafka cluster to another: stop, change the address, start."""

from pathlib import Path

import pytest

from tests.acceptance.faults.broker_harness import BrokerHarness, arrivals, create_topics
from tests.acceptance.faults.situation import outcome_of
from tests.support.servers.kafka import KafkaBroker

pytestmark = [pytest.mark.servers, pytest.mark.slow]


def test_agent_moves_between_kafka_clusters_without_loss_or_repeats(
    broker: KafkaBroker, tmp_path: Path
) -> None:
    """The test starts its own new cluster."""
    harness = BrokerHarness(tmp_path / "harness")
    with KafkaBroker(tmp_path / "new", heap_mib=256) as new:
        create_topics(new, harness)
        create_topics(broker, harness)
        with harness.running(broker.bootstrap):
            harness.feed()
            harness.feed_part()
            harness.wait_for_arrival(broker, topics=harness.topics)
        before = arrivals(broker, *harness.topics)
        assert before
        with harness.running(new.bootstrap):
            harness.feed_all()
            after = harness.wait_for_arrival(new, before=before)
        assert after
    outcome = outcome_of(harness.expected(), [*before, *after])
    assert (outcome.lost, outcome.invented, outcome.repeated) == (0, 0, 0)
    assert harness.recorded() == []
