"""Brokers that reject events, run out of disk or die beside another one, on real servers."""

from pathlib import Path

import pytest

from tests.acceptance.faults.broker_harness import BrokerHarness, arrivals, create_topics
from tests.acceptance.faults.filesystem_harness import fill, mounted
from tests.acceptance.faults.situation import outcome_of, situation
from tests.support.agents.fault_reports import Report
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import wait_until

pytestmark = pytest.mark.servers


@pytest.fixture
def harness(tmp_path: Path) -> BrokerHarness:
    return BrokerHarness(tmp_path / "harness")


@situation("Events are larger than `max.message.bytes` of their topic")
def test_events_that_are_too_large(tmp_path: Path, harness: BrokerHarness, report: Report) -> None:
    with KafkaBroker(tmp_path / "kafka", heap_mib=256) as broker:
        for topic in harness.topics:
            broker.create_topic(topic, 3, config={"max.message.bytes": "1500"})
        with harness.running(broker.bootstrap):
            harness.feed_all()
            expected = harness.expected()
            harness.wait(
                lambda: len(set(arrivals(broker)) | set(harness.recorded())) >= len(expected),
                "each event in its topic or in the quarantine",
            )
            harness.wait(lambda: "event_rejected" in harness.conditions(), "the condition")
            recorded = harness.recorded()
            assert recorded
            assert not set(recorded) & set(arrivals(broker))
            report(outcome_of(expected, arrivals(broker), recorded))


@situation(
    "The disk of the broker's log is full and the broker ends; it starts again with free space"
)
def test_a_full_disk(tmp_path: Path, harness: BrokerHarness, report: Report) -> None:
    broker = KafkaBroker(tmp_path / "kafka", heap_mib=256)
    data = broker.directory / "data"
    data.mkdir(parents=True)
    with mounted(data, "64m"), broker:
        create_topics(broker, harness)
        with harness.running(broker.bootstrap):
            harness.feed()
            harness.wait_for_arrival(broker)
            ballast = fill(data)
            harness.feed_all()
            wait_until(lambda: not broker.is_running, "the broker to end")
            harness.wait_for_report(broker.bootstrap)
            ballast.unlink()
            broker.start()
            report(outcome_of(harness.expected(), harness.wait_for_arrival(broker)))


@situation("One of two brokers, the leader of half the partitions, is killed")
def test_a_killed_leader(tmp_path: Path, harness: BrokerHarness, report: Report) -> None:
    with KafkaBroker(tmp_path / "first", heap_mib=256) as first:
        second = KafkaBroker(tmp_path / "second", heap_mib=256, cluster_id=first.cluster_id)
        second.join(first, node_id=2)
        with second:
            wait_until(lambda: len(first.admin().list_topics().brokers) == 2, "both")
            create_topics(first, harness, partitions=4, replicas=2)
            with harness.running(f"{first.bootstrap},{second.bootstrap}"):
                harness.feed()
                harness.wait_for_arrival(first)
                leaders = {
                    partition.leader
                    for topic in first.admin().list_topics().topics.values()
                    for partition in topic.partitions.values()
                }
                assert leaders == {1, 2}
                second.kill()
                harness.feed_all()
                report(outcome_of(harness.expected(), harness.wait_for_arrival(first)))
