"""Least rights of the agent's Kafka user on a real broker with an authorizer, as documented:
sufficient in every mode, and each command is required."""

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Producer

from sidecar.errors import SidecarError
from sidecar.leader_election.election import ElectionSettings, LeaderElection
from sidecar.leader_election.role import Role
from sidecar.sinks.kafka.client import ClientOptions
from sidecar.sinks.kafka.config.client_config import client_config
from sidecar.sinks.kafka.topics.access import existing_topics, unwritable_topics
from sidecar.sinks.kafka.topics.metadata import topic_creation
from sidecar.sinks.kafka.topics.reader import TailedRecord, TopicTailer
from sidecar.sinks.kafka.transactions.sink import TransactionalKafkaSink
from tests.acceptance.faults.broker_harness import PREFIX, BrokerHarness, arrivals, create_topics
from tests.acceptance.faults.situation import outcome_of
from tests.support.agents.exactly_once import (
    COMPACTED,
    ExactDelivery,
    Source,
    records,
    single,
    stored,
)
from tests.support.servers.kafka_acl import USER, AuthorisingBroker, acl_bindings, scram_login
from tests.support.servers.processes import wait_until
from tests.support.sinks.kafka_sinks import QUICK

pytestmark = pytest.mark.servers

DOCUMENT = Path(__file__).parents[3] / "docs" / "explanation" / "security.md"
PASSWORD = "s3cret-of-agent"


def documented_commands() -> list[str]:
    """`kafka-acls.sh` commands of the page, each on one line."""
    blocks = DOCUMENT.read_text().split("```sh\n")[1:]
    lines = "".join(block.split("```", 1)[0] for block in blocks).replace("\\\n", " ")
    return [line for line in lines.splitlines() if line.startswith("kafka-acls.sh ")]


WRITE, CREATE, TRANSACTION, POSITION, HEARTBEAT, SIGNAL, GROUP, STANDBY = documented_commands()


def of_site(command: str) -> str:
    """Command of the page, applied to the topics of `BrokerHarness`."""
    return command.replace("shop.", f"{PREFIX}.")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[AuthorisingBroker]:
    with AuthorisingBroker(tmp_path / "kafka") as broker:
        broker.set_password(PASSWORD)
        yield broker


@pytest.fixture
def harness(tmp_path: Path) -> BrokerHarness:
    return BrokerHarness(tmp_path / "harness")


def test_documented_commands_use_the_tested_user() -> None:
    for command in documented_commands():
        assert {each.principal for each in acl_bindings(command)} == {f"User:{USER}"}


def is_denial(message: str) -> bool:
    return "is denied to this user" in message or "denies access to this user" in message


def deliver_after(
    command: str,
    harness: BrokerHarness,
    broker: AuthorisingBroker,
    settings: Mapping[str, str] | None = None,
) -> None:
    """`/health` reports the missing right, and no event arrives. After the command every recorded
    event arrives, and none is quarantined."""
    with harness.running(broker.secured, {**scram_login(PASSWORD), **(settings or {})}):
        harness.feed()
        harness.wait(
            lambda: (
                harness.sink().get("status") in ("degraded", "failing")
                and is_denial(str(harness.sink()))
            ),
            "`/health` to report the missing right",
        )
        assert arrivals(broker) == []
        broker.run_kafka_acls(of_site(command))
        harness.feed_all()
        found = outcome_of(harness.expected(), harness.wait_for_arrival(broker))
        assert (found.lost, found.invented) == (0, 0)
        assert harness.recorded() == []


def test_existing_topics_need_write_right(
    harness: BrokerHarness, broker: AuthorisingBroker
) -> None:
    create_topics(broker, harness)
    deliver_after(WRITE, harness, broker)


def test_create_right_lets_the_agent_create_topics(
    harness: BrokerHarness, broker: AuthorisingBroker
) -> None:
    broker.run_kafka_acls(of_site(WRITE))
    deliver_after(CREATE, harness, broker, {"topic.creation.enable": "true"})


def test_create_right_lets_the_broker_create_topics(harness: BrokerHarness, tmp_path: Path) -> None:
    with AuthorisingBroker(tmp_path / "auto", auto_create_topics=True) as broker:
        broker.set_password(PASSWORD)
        broker.run_kafka_acls(of_site(WRITE))
        deliver_after(CREATE, harness, broker)


def login(broker: AuthorisingBroker) -> dict[str, str]:
    """Client settings, as the agent passes them to its sink."""
    found = {
        name.removeprefix("kafka.producer."): value for name, value in scram_login(PASSWORD).items()
    }
    return found | {"bootstrap.servers": broker.secured}


def deliver_exactly(broker: AuthorisingBroker, *, creates: bool = False) -> str:
    """Publish a hundred events in transactions; returns the final error, or nothing."""
    creation = topic_creation(creates, {})
    where = records("shop.position", "shop")
    sink = TransactionalKafkaSink(ClientOptions(login(broker), creation), where, QUICK)
    try:
        sink.open()
        delivery = ExactDelivery(sink, Source(single("shop.db.orders", 100)))

        def is_over() -> bool:
            delivery.step()
            message = sink.state().message
            return delivery.is_done or is_denial(message) or "does not exist" in message

        wait_until(is_over, "the end or a report")
        return "" if delivery.is_done else sink.state().message
    except SidecarError as error:
        return str(error)
    finally:
        sink.close(0)


@pytest.mark.parametrize("missing", [None, WRITE, TRANSACTION, POSITION])
def test_exactly_once_delivery_requires_each_documented_right(
    broker: AuthorisingBroker, missing: str | None
) -> None:
    broker.create_topic("shop.db.orders")
    broker.create_topic("shop.position", 1, COMPACTED)
    for command in (WRITE, TRANSACTION, POSITION):
        if command != missing:
            broker.run_kafka_acls(command)
    if missing is not None:
        assert deliver_exactly(broker) != ""
        assert broker.consume_all("shop.db.orders") == []
        broker.run_kafka_acls(missing)
    assert deliver_exactly(broker) == ""
    assert len(broker.consume_all("shop.db.orders")) == 100
    assert stored(broker, "shop.position")


def test_create_right_lets_the_agent_create_its_position_topic(broker: AuthorisingBroker) -> None:
    for command in (WRITE, CREATE, TRANSACTION, POSITION):
        broker.run_kafka_acls(command)
    assert deliver_exactly(broker, creates=True) == ""
    assert len(broker.consume_all("shop.db.orders")) == 100


def test_signal_consumer_requires_topic_and_group_rights(broker: AuthorisingBroker) -> None:
    broker.create_topic("shop-signal")
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce("shop-signal", b"{}", b"shop")
    producer.flush(60)
    broker.run_kafka_acls(SIGNAL)
    found: list[TailedRecord] = []
    arrived = threading.Event()

    def take(record: TailedRecord) -> None:
        found.append(record)
        arrived.set()

    with TopicTailer(login(broker), "shop-signal", None, take, group="kafka-signal"):
        broker.run_kafka_acls(GROUP)
        wait_until(arrived.is_set, "the signal")
    assert [(each.key, each.value) for each in found] == [(b"shop", b"{}")]


@pytest.mark.parametrize("missing", [POSITION, STANDBY])
def test_standby_waits_for_missing_right(broker: AuthorisingBroker, missing: str) -> None:
    broker.create_topic("shop.position", 1, COMPACTED)
    (given,) = {POSITION, STANDBY} - {missing}
    broker.run_kafka_acls(given)
    settings = ElectionSettings(login(broker), "cdc-sidecar-shop", "shop.position", 6000)
    with LeaderElection(settings) as election:
        wait_until(lambda: election.error != "", "the missing right")
        broker.run_kafka_acls(missing)
        wait_until(lambda: election.role is Role.LEADER, "the leadership")


def test_heartbeat_rights_suffice(broker: AuthorisingBroker) -> None:
    # The harness hides topics whose names start like Kafka's internal ones.
    topic = "heartbeat.shop"
    command = HEARTBEAT.replace("__debezium-heartbeat.shop", topic)
    broker.create_topic(topic)
    assert existing_topics(login(broker), 60) == {}
    broker.run_kafka_acls(command)
    assert existing_topics(login(broker), 60) == {topic: 1}
    assert unwritable_topics(login(broker), [topic], 60) == []
    producer = Producer(dict(client_config(login(broker))))
    producer.produce(topic, b"{}", b"{}")
    assert producer.flush(60) == 0
    assert len(broker.consume_all(topic)) == 1
