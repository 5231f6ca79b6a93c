"""Batches that shrank for one event and grow again, with a real broker; and queries to an available
and an unavailable broker."""

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException

from sidecar.errors import ConfigError, UnavailableError
from sidecar.events import Message
from sidecar.sinks.kafka.topics.access import compacted_topics, existing_topics, unwritable_topics
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import DEADLINE_S
from tests.support.sinks.kafka_sinks import LaterClock, SinkFactory
from tests.support.sinks.sink_driving import Delivery, Sending, incompressible, made_small

pytestmark = pytest.mark.servers


def keys_in_order(broker: KafkaBroker, topic: str) -> Iterator[bytes | None]:
    return (record.key for record in broker.consume_all(topic))


def test_batches_regrow_after_an_invalid_event(broker: KafkaBroker, make_sink: SinkFactory) -> None:
    """An event without a key is invalid in a compacted topic, and the client reports its whole
    batch as invalid. Batches grow without a restart; a second rejection proves that they are
    large."""
    broker.create_topic("grows", 1, {"cleanup.policy": "compact"})
    without_key: Message = ("grows", b"", b"no key", [], 0)
    clock = LaterClock()
    sink = make_sink(broker.bootstrap, clock=clock, linger_ms="50", batch_size="4000")
    for first in (0, 100):
        good = [incompressible("grows", number, 300) for number in range(first, first + 20)]
        delivery = Delivery(sink, [*good[:10], without_key, *good[10:]])
        delivery.run()
        assert list(delivery.failed) == [10]
        assert delivery.failed[10].startswith("Kafka rejects it: ")
        assert delivery.restarts
        clock.ahead_s += 61
        delivery = Delivery(sink, [incompressible("grows", first + 20, 300)])
        delivery.run()
        assert (delivery.failed, delivery.restarts) == ({}, [])
    keys = {record.key for record in broker.consume_all("grows")}
    assert keys == {b"%d" % number for number in (*range(21), *range(100, 121))}


def test_producer_with_pending_events_is_not_replaced(
    broker: KafkaBroker, make_sink: SinkFactory
) -> None:
    """No event is lost or repeated, and the order is preserved."""
    clock = LaterClock()
    sink = make_sink(broker.bootstrap, clock=clock, linger_ms="300")
    made_small(broker, sink, "replaced")
    messages = [incompressible("replaced", number, 100) for number in range(1, 1000)]
    sending = Sending(sink, messages)
    assert sending.send_some() > 0
    clock.ahead_s += 61
    assert sending.send_some() == 0, "it waits"
    sending.finish()
    assert not sink.batch_size.should_grow
    assert sorted(sending.acknowledged) == list(range(len(messages)))
    assert list(keys_in_order(broker, "replaced")) == [b"%d" % n for n in range(1000)]


def test_failed_replacement_keeps_the_working_producer(
    broker: KafkaBroker,
    make_sink: SinkFactory,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """For example while an operator replaces a key on disk."""
    clock = LaterClock()
    sink = make_sink(broker.bootstrap, clock=clock)
    made_small(broker, sink, "kept")

    def refused(*arguments: object, **named: object) -> None:
        raise KafkaException(KafkaError(KafkaError._INVALID_ARG, "no such key"))

    clock.ahead_s += 61
    with monkeypatch.context() as patch:
        patch.setattr("sidecar.sinks.kafka.client.Producer", refused)
        Sending(sink, [incompressible("kept", number, 1) for number in (1, 2)]).finish()
    assert "batch size stays small" in caplog.text
    assert list(keys_in_order(broker, "kept")) == [b"0", b"1", b"2"]
    clock.ahead_s += 61
    Sending(sink, [incompressible("kept", 3, 1)]).finish()
    assert not sink.batch_size.should_grow


@pytest.mark.servers
def test_existing_topics_have_partition_counts(broker: KafkaBroker) -> None:
    broker.create_topic("survey", 3)
    assert existing_topics({"bootstrap.servers": broker.bootstrap}, DEADLINE_S)["survey"] == 3


@pytest.mark.servers
def test_broker_without_authorizer_permits_every_write(broker: KafkaBroker) -> None:
    broker.create_topic("open", 1)
    settings = {"bootstrap.servers": broker.bootstrap}
    assert unwritable_topics(settings, ["open", "none"], DEADLINE_S) == []


@pytest.mark.servers
def test_compacted_topics_are_found(broker: KafkaBroker) -> None:
    policies = {None: False, "delete": False, "compact": True, "compact,delete": True}
    for number, policy in enumerate(policies):
        config = {} if policy is None else {"cleanup.policy": policy}
        broker.create_topic(f"policy{number}", 1, config)
    settings = {"bootstrap.servers": broker.bootstrap}
    names = [f"policy{number}" for number in range(len(policies))]
    found = compacted_topics(settings, [*names, "none"], DEADLINE_S)
    assert found == [name for name, kept in zip(names, policies.values(), strict=True) if kept]


def test_unavailable_broker_yields_no_unwritable_topics() -> None:
    assert unwritable_topics({"bootstrap.servers": "127.0.0.1:9"}, ["a"], 0.5) == []


def test_unavailable_broker_is_reported() -> None:
    with pytest.raises(
        UnavailableError, match=r"No Kafka broker of 127\.0\.0\.1:9 answers: .*refused"
    ):
        existing_topics({"bootstrap.servers": "127.0.0.1:9"}, 0.5)


def test_invalid_client_setting_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match=r"`kafka\.producer\.socket\.timeout\.ms` cannot be `1`"):
        existing_topics({"bootstrap.servers": "x:1", "socket.timeout.ms": "1"}, 0.5)
