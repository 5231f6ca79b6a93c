"""A look at a broker that is there, and at one that is not."""

import pytest

from sidecar.errors import ConfigError, UnavailableError
from sidecar.sinks.kafka.topics.access import compacted_topics, existing_topics, unwritable_topics
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import DEADLINE_S


@pytest.mark.servers
def test_topics_and_their_partitions(broker: KafkaBroker) -> None:
    broker.create_topic("survey", 3)
    assert existing_topics({"bootstrap.servers": broker.bootstrap}, DEADLINE_S)["survey"] == 3


@pytest.mark.servers
def test_broker_without_authorizer_permits_every_write(broker: KafkaBroker) -> None:
    broker.create_topic("open", 1)
    settings = {"bootstrap.servers": broker.bootstrap}
    assert unwritable_topics(settings, ["open", "none"], DEADLINE_S) == []


@pytest.mark.servers
def test_compacted_topics(broker: KafkaBroker) -> None:
    policies = {None: False, "delete": False, "compact": True, "compact,delete": True}
    for number, policy in enumerate(policies):
        config = {} if policy is None else {"cleanup.policy": policy}
        broker.create_topic(f"policy{number}", 1, config)
    settings = {"bootstrap.servers": broker.bootstrap}
    names = [f"policy{number}" for number in range(len(policies))]
    found = compacted_topics(settings, [*names, "none"], DEADLINE_S)
    assert found == [name for name, kept in zip(names, policies.values(), strict=True) if kept]


def test_unavailable_broker_has_no_finding_about_rights() -> None:
    assert unwritable_topics({"bootstrap.servers": "127.0.0.1:9"}, ["a"], 0.5) == []


def test_a_broker_that_is_away() -> None:
    with pytest.raises(
        UnavailableError, match=r"No Kafka broker of 127\.0\.0\.1:9 answers: .*refused"
    ):
        existing_topics({"bootstrap.servers": "127.0.0.1:9"}, 0.5)


def test_settings_that_the_client_does_not_take() -> None:
    with pytest.raises(ConfigError, match=r"`kafka\.producer\.socket\.timeout\.ms` cannot be `1`"):
        existing_topics({"bootstrap.servers": "x:1", "socket.timeout.ms": "1"}, 0.5)
