"""Real brokers that do not answer, reject logins, events or writes, fill their disk or die beside
another one, and topics that change."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin._acl import AclOperation
from confluent_kafka.cimpl import NewPartitions

from tests.acceptance.faults.broker_harness import BrokerHarness, arrivals, create_topics
from tests.acceptance.faults.filesystem_harness import fill, mounted
from tests.acceptance.faults.situation import outcome_of, situation
from tests.support.agents.fault_reports import Report
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.kafka_acl import AuthorisingBroker, scram_login
from tests.support.servers.processes import freeze, wait_until

pytestmark = pytest.mark.servers

_FROZEN_S = 90
_METADATA_AGE_S = 1
_FRESH_METADATA = {"kafka.producer.metadata.max.age.ms": _METADATA_AGE_S * 1000}


@pytest.fixture
def harness(tmp_path: Path) -> BrokerHarness:
    return BrokerHarness(tmp_path / "harness")


@contextmanager
def two_brokers(folder: Path) -> Iterator[tuple[KafkaBroker, KafkaBroker]]:
    with KafkaBroker(folder / "first", heap_mib=256) as first:
        second = KafkaBroker(folder / "second", heap_mib=256, cluster_id=first.cluster_id)
        second.join(first, node_id=2)
        with second:
            wait_until(lambda: len(first.admin().list_topics().brokers) == 2, "both")
            yield first, second


@situation("The broker is frozen (SIGSTOP) for 90 s and resumes")
def test_frozen_broker_loses_nothing(
    tmp_path: Path, harness: BrokerHarness, report: Report
) -> None:
    with KafkaBroker(tmp_path / "kafka", heap_mib=256) as broker:
        create_topics(broker, harness)
        with harness.running(broker.bootstrap):
            harness.feed()
            harness.wait_for_arrival(broker)
            pid = broker.pid
            assert pid is not None
            freeze(pid)
            try:
                harness.feed_all()
                harness.wait_for_silence(_FROZEN_S)
            finally:
                os.kill(pid, signal.SIGCONT)
            report(outcome_of(harness.expected(), harness.wait_for_arrival(broker)))


@situation("`min.insync.replicas` is not met, and then met")
def test_events_arrive_once_enough_replicas_are_in_sync(
    tmp_path: Path, harness: BrokerHarness, report: Report
) -> None:
    # A broker requires at most as many in-sync replicas as a partition has.
    with two_brokers(tmp_path) as (first, second):
        config = {"min.insync.replicas": "2"}
        create_topics(first, harness, replicas=2, config=config)
        with harness.running(first.bootstrap):
            harness.feed()
            harness.wait_for_arrival(first)
            second.kill()
            harness.feed_all()
            harness.wait_for_report("are enough replicas in sync?")
            second.start()
            report(outcome_of(harness.expected(), harness.wait_for_arrival(first)))


@situation(
    "The agent's password is changed at the broker, the broker restarts, and the password is "
    "changed back"
)
def test_events_arrive_after_a_broker_password_is_restored(
    tmp_path: Path, harness: BrokerHarness, report: Report
) -> None:
    with AuthorisingBroker(tmp_path / "kafka") as broker:
        create_topics(broker, harness)
        broker.set_password("first")
        broker.allow("*", [AclOperation.DESCRIBE, AclOperation.WRITE])
        with harness.running(broker.secured, scram_login("first")):
            harness.feed()
            harness.wait_for_arrival(broker)
            broker.set_password("second")
            broker.restart()
            harness.feed_all()
            harness.wait_for_report("rejected the login")
            broker.set_password("first")
            report(outcome_of(harness.expected(), harness.wait_for_arrival(broker)))


@situation("Events are larger than `max.message.bytes` of their topic")
def test_oversized_events_are_recorded_in_the_quarantine(
    tmp_path: Path, harness: BrokerHarness, report: Report
) -> None:
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
def test_events_arrive_after_a_broker_disk_has_space(
    tmp_path: Path, harness: BrokerHarness, report: Report
) -> None:
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
def test_leader_kill_loses_nothing(tmp_path: Path, harness: BrokerHarness, report: Report) -> None:
    with two_brokers(tmp_path) as (first, second):
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


@situation(
    "A topic does not exist and the broker creates none (`auto.create.topics.enable=false`); it "
    "is created later"
)
def test_missing_topic_blocks_only_its_own_events(
    tmp_path: Path, harness: BrokerHarness, report: Report
) -> None:
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
def test_events_arrive_after_a_deleted_topic_is_recreated(
    tmp_path: Path, harness: BrokerHarness, report: Report
) -> None:
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
def test_events_use_new_partitions(tmp_path: Path, harness: BrokerHarness, report: Report) -> None:
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
def test_denied_topic_blocks_only_its_own_events(
    tmp_path: Path, harness: BrokerHarness, report: Report
) -> None:
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
