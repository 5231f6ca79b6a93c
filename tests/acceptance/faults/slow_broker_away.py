"""Brokers that do not answer, refuse a login or have too few replicas, on real servers."""

import os
import signal
from pathlib import Path

import pytest

from tests.acceptance.faults.broker_harness import BrokerHarness, create_topics
from tests.acceptance.faults.situation import outcome_of, situation
from tests.support.agents.fault_reports import Report
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.kafka_acl import AuthorisingBroker, scram_login
from tests.support.servers.processes import wait_until

pytestmark = pytest.mark.servers

_FROZEN_S = 90


@pytest.fixture
def harness(tmp_path: Path) -> BrokerHarness:
    return BrokerHarness(tmp_path / "harness")


@situation("The broker is frozen (SIGSTOP) for 90 s and resumes")
def test_a_frozen_broker(tmp_path: Path, harness: BrokerHarness, report: Report) -> None:
    with KafkaBroker(tmp_path / "kafka", heap_mib=256) as broker:
        create_topics(broker, harness)
        with harness.running(broker.bootstrap):
            harness.feed()
            harness.wait_for_arrival(broker)
            pid = broker.pid
            assert pid is not None
            os.kill(pid, signal.SIGSTOP)
            try:
                harness.feed_all()
                harness.wait_for_silence(_FROZEN_S)
            finally:
                os.kill(pid, signal.SIGCONT)
            report(outcome_of(harness.expected(), harness.wait_for_arrival(broker)))


@situation("`min.insync.replicas` is not met, and then met")
def test_too_few_replicas(tmp_path: Path, harness: BrokerHarness, report: Report) -> None:
    # A broker requires at most as many replicas in sync as a partition has.
    with KafkaBroker(tmp_path / "first", heap_mib=256) as first:
        second = KafkaBroker(tmp_path / "second", heap_mib=256, cluster_id=first.cluster_id)
        second.join(first, node_id=2)
        with second:
            wait_until(lambda: len(first.admin().list_topics().brokers) == 2, "both")
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
def test_a_changed_password(tmp_path: Path, harness: BrokerHarness, report: Report) -> None:
    from confluent_kafka.admin._acl import AclOperation

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
