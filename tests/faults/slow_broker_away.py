"""Brokers that do not answer, refuse a login or have too few replicas, on real servers."""

import os
import signal
from pathlib import Path

import pytest
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType

from tests.faults.broker_site import BrokerSite, create_topics
from tests.faults.conftest import Report
from tests.faults.situation import outcome_of, situation
from tests.harness.kafka import KafkaBroker
from tests.harness.kafka_acl import AuthorisingBroker, scram_login

pytestmark = pytest.mark.servers

_FROZEN_S = 90


@pytest.fixture
def site(tmp_path: Path) -> BrokerSite:
    return BrokerSite(tmp_path / "site")


@situation(
    "broker",
    "The broker is frozen (SIGSTOP) for 90 s and goes on",
    action="Waits, and asks for a broker once a second.",
    health="`failing` (`sink_unavailable`): the address and for how long",
    arrival="All events after the broker goes on.",
)
def test_a_frozen_broker(tmp_path: Path, site: BrokerSite, report: Report) -> None:
    with KafkaBroker(tmp_path / "kafka", heap_mib=256) as broker:
        create_topics(broker, site)
        with site.running(broker.bootstrap):
            site.feed()
            site.wait_for_arrival(broker)
            pid = broker.pid
            assert pid is not None
            os.kill(pid, signal.SIGSTOP)
            try:
                site.feed_all()
                site.wait_for_silence(_FROZEN_S)
            finally:
                os.kill(pid, signal.SIGCONT)
            report(outcome_of(site.expected(), site.wait_for_arrival(broker)))


@situation(
    "broker",
    "`min.insync.replicas` is not met, and then met",
    action="Waits; the client keeps the events and sends them again.",
    health="`failing` (`sink_unavailable`): nothing was acknowledged, and to look at the replicas",
    arrival="All events when enough replicas are in sync.",
)
def test_too_few_replicas(tmp_path: Path, site: BrokerSite, report: Report) -> None:
    with KafkaBroker(tmp_path / "kafka", heap_mib=256) as broker:
        create_topics(broker, site)
        with site.running(broker.bootstrap):
            site.feed()
            site.wait_for_arrival(broker)
            _need_replicas(broker, site, 2)
            site.feed_all()
            site.wait_for_report("are enough replicas in sync?")
            _need_replicas(broker, site, 1)
            report(outcome_of(site.expected(), site.wait_for_arrival(broker)))


@situation(
    "broker",
    "The agent's password is changed at the broker, the broker restarts, and the password is "
    "changed back",
    action="Stays up and logs in again after growing pauses of up to 30 s.",
    health="`failing` (`sink_refused`): names the broker and `kafka.producer.sasl.*`",
    arrival="All events after the login succeeds.",
)
def test_a_changed_password(tmp_path: Path, site: BrokerSite, report: Report) -> None:
    from confluent_kafka.admin._acl import AclOperation

    with AuthorisingBroker(tmp_path / "kafka") as broker:
        create_topics(broker, site)
        broker.set_password("first")
        broker.allow("*", [AclOperation.DESCRIBE, AclOperation.WRITE])
        with site.running(broker.secured, scram_login("first")):
            site.feed()
            site.wait_for_arrival(broker)
            broker.set_password("second")
            broker.restart()
            site.feed_all()
            site.wait_for_report("refuses the login")
            broker.set_password("first")
            report(outcome_of(site.expected(), site.wait_for_arrival(broker)))


def _need_replicas(broker: KafkaBroker, site: BrokerSite, count: int) -> None:
    for topic in site.topics:
        entry = ConfigEntry(
            "min.insync.replicas", str(count), incremental_operation=AlterConfigOpType.SET
        )
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        for future in broker.admin().incremental_alter_configs([resource]).values():
            future.result(60)
