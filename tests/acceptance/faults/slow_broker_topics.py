"""Topics and rights that change while the agent runs, on a real broker."""

import time
from pathlib import Path

import pytest
from confluent_kafka.admin._acl import AclOperation
from confluent_kafka.cimpl import NewPartitions

from tests.acceptance.faults.broker_harness import BrokerHarness, arrivals, create_topics
from tests.acceptance.faults.situation import outcome_of, situation
from tests.support.agents.fault_reports import Report
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.kafka_acl import AuthorisingBroker, scram_login

pytestmark = pytest.mark.servers

_METADATA_AGE_S = 1
_FRESH_METADATA = {"kafka.producer.metadata.max.age.ms": _METADATA_AGE_S * 1000}


@pytest.fixture
def harness(tmp_path: Path) -> BrokerHarness:
    return BrokerHarness(tmp_path / "harness")


@situation(
    "A topic does not exist and the broker creates none (`auto.create.topics.enable=false`); it "
    "is created later"
)
def test_a_missing_topic(tmp_path: Path, harness: BrokerHarness, report: Report) -> None:
    with KafkaBroker(tmp_path / "kafka", heap_mib=256) as broker:
        missing = harness.next_topics()[0]
        create_topics(broker, harness, but=missing)
        with harness.running(broker.bootstrap):
            harness.feed_all()
            harness.wait_for_report(f"the topic {missing} does not exist")
            others = len(harness.expected()) - harness.topics[missing]
            harness.wait(lambda: len(arrivals(broker)) == others, "the events of other topics")
            broker.create_topic(missing, 3)
            report(outcome_of(harness.expected(), harness.wait_for_arrival(broker)))


@situation("A topic is deleted while the agent runs; it is created again")
def test_a_deleted_topic(tmp_path: Path, harness: BrokerHarness, report: Report) -> None:
    with KafkaBroker(tmp_path / "kafka", heap_mib=256) as broker:
        create_topics(broker, harness)
        with harness.running(broker.bootstrap, _FRESH_METADATA):
            harness.feed()
            harness.feed_part()
            harness.wait_for_arrival(broker)
            deleted = harness.next_topics()[0]
            older = arrivals(broker, deleted)
            assert older
            broker.admin().delete_topics([deleted])[deleted].result()
            harness.wait(lambda: deleted not in broker.topics(), "the topic to go")
            harness.feed_all()
            harness.wait_for_report(deleted)
            broker.create_topic(deleted, 2)
            arrived = harness.wait_for_arrival(broker, before=older)
            report(outcome_of(harness.expected(), [*older, *arrived]))


@situation("A topic gets 6 partitions in place of 1 while the agent runs")
def test_more_partitions(tmp_path: Path, harness: BrokerHarness, report: Report) -> None:
    with KafkaBroker(tmp_path / "kafka", heap_mib=256) as broker:
        create_topics(broker, harness, partitions=1)
        with harness.running(broker.bootstrap, _FRESH_METADATA):
            # The largest topic of the third wave has eleven keys.
            harness.feed()
            harness.feed()
            harness.feed_part()
            harness.wait_for_arrival(broker)
            grown = harness.next_topics()[0]
            assert arrivals(broker, grown)
            for topic in harness.topics:
                futures = broker.admin().create_partitions([NewPartitions(topic, 6)])
                futures[topic].result()
            harness.wait(lambda: set(broker.topics().values()) == {6}, "the new partitions")
            expired_s = time.monotonic() + _METADATA_AGE_S
            harness.wait(lambda: time.monotonic() > expired_s, "the agent's metadata to expire")
            harness.feed_all()
            arrived = harness.wait_for_arrival(broker)
            used = {record.partition for record in broker.consume_all(grown)}
            assert len(used) > 1, used
            report(outcome_of(harness.expected(), arrived))


@situation("The right to write to a topic is revoked and granted again")
def test_a_rejected_topic(tmp_path: Path, harness: BrokerHarness, report: Report) -> None:
    with AuthorisingBroker(tmp_path / "kafka") as broker:
        create_topics(broker, harness)
        broker.set_password("first")
        broker.allow("*", [AclOperation.DESCRIBE])
        for topic in harness.topics:
            broker.allow(topic, [AclOperation.WRITE])
        with harness.running(broker.secured, scram_login("first")):
            harness.feed()
            harness.feed_part()
            harness.wait_for_arrival(broker)
            refused = harness.next_topics()[0]
            older = arrivals(broker, refused)
            assert older
            broker.deny(refused, AclOperation.WRITE)
            harness.feed_all()
            harness.wait_for_report(f"the topic {refused} is denied")
            others = len(harness.expected()) - harness.topics[refused] + len(set(older))
            harness.wait(lambda: len(set(arrivals(broker))) >= others, "the events of other topics")
            broker.allow(refused, [AclOperation.WRITE])
            report(outcome_of(harness.expected(), harness.wait_for_arrival(broker)))
