"""The Kafka sink with a real broker."""

import random
from collections.abc import Sequence

import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType

from sidecar.errors import AccessDeniedError, ConfigError, SinkRestartError
from sidecar.events import Message
from sidecar.sinks.base import DeliveryResult
from sidecar.sinks.kafka.topics.metadata import TopicCreation
from tests.support.segments.batches import message
from tests.support.servers.kafka import VERSION, KafkaBroker
from tests.support.servers.kafka_programs import run_program
from tests.support.servers.processes import DEADLINE_S, wait_until
from tests.support.sinks.kafka_sinks import SinkFactory
from tests.support.sinks.sink_driving import Delivery, assert_arrived, incompressible

pytestmark = pytest.mark.servers

NOWHERE = "127.0.0.1:9"


def spread(topics: Sequence[str], count: int, value_bytes: int = 0) -> list[Message]:
    """Events over topics and partitions, in a fixed random order."""
    chance = random.Random(7)
    return [
        message(chance.choice(topics), number, chance.getrandbits(31), value_bytes)
        for number in range(count)
    ]


def test_events_arrive_in_order_and_are_acknowledged(
    broker: KafkaBroker, make_sink: SinkFactory
) -> None:
    counts = {"order-one": 1, "order-many": 5}
    for topic, partitions in counts.items():
        broker.create_topic(topic, partitions)
    messages = spread(list(counts), 12_000, value_bytes=300)
    sink = make_sink(broker.bootstrap)
    delivery = Delivery(sink, messages)
    delivery.run()
    assert (delivery.failed, delivery.restarts) == ({}, [])
    assert_arrived(messages, broker.consume_all(*counts), counts)
    assert sink.state().healthy
    assert sink.close(DEADLINE_S) == DeliveryResult()


def test_close_finishes_accepted_events(broker: KafkaBroker, make_sink: SinkFactory) -> None:
    broker.create_topic("close", 2)
    messages = spread(["close"], 3000)
    sink = make_sink(broker.bootstrap, linger_ms="100")
    delivery = Delivery(sink, messages)
    delivery.step(timeout_s=0)
    answered = delivery.answered
    outcome = sink.close(DEADLINE_S)
    assert sum(map(len, outcome.acknowledged)) == 3000 - answered
    assert_arrived(messages, broker.consume_all("close"), {"close": 2})


def test_full_client_queue_accepts_a_part(broker: KafkaBroker, make_sink: SinkFactory) -> None:
    broker.create_topic("full", 1)
    messages = spread(["full"], 5000)
    sink = make_sink(broker.bootstrap, queue_buffering_max_messages="700", linger_ms="200")
    delivery = Delivery(sink, messages)
    delivery.step(timeout_s=0)
    assert 0 < delivery.sent < 5000
    delivery.run()
    assert_arrived(messages, broker.consume_all("full"), {"full": 1})


def test_missing_topic_blocks_only_its_events(broker: KafkaBroker, make_sink: SinkFactory) -> None:
    broker.create_topic("there", 1)
    messages = [message("there", 0, 0), message("missing", 1, 1), message("there", 2, 0)]
    sink = make_sink(broker.bootstrap)
    delivery = Delivery(sink, messages)
    # Acknowledgements stay contiguous, and the other topic does not wait.
    delivery.until(
        lambda: delivery.answered == 1 and len(broker.consume_all("there")) == 2,
        "the events of the other topic",
    )
    assert delivery.answered == 1
    state = sink.state()
    assert (state.healthy, state.code, state.topics) == (True, "topic_missing", ("missing",))
    assert state.message.startswith("the topic missing does not exist.")
    assert state.remedy == (
        f"Create it (`kafka-topics.sh --bootstrap-server {broker.bootstrap} --create --topic "
        "missing`), or set topic.creation.enable=true."
    )
    run_program(broker, state.remedy.split("`")[1])
    delivery.run()
    assert sink.state().healthy
    counts = {"there": 1, "missing": 1}
    assert_arrived(messages, broker.consume_all(*counts), counts)


def test_topic_is_created_as_configured(broker: KafkaBroker, make_sink: SinkFactory) -> None:
    creation = TopicCreation(4, 1, {"cleanup.policy": "compact", "retention.ms": "12345"})
    messages = spread(["made-one", "made-two"], 200)
    sink = make_sink(broker.bootstrap, creation)
    Delivery(sink, messages).run()
    counts = {"made-one": 4, "made-two": 4}
    assert {topic: broker.topics()[topic] for topic in counts} == counts
    resource = ConfigResource(ResourceType.TOPIC, "made-one")
    settings = broker.admin().describe_configs([resource])[resource].result()
    assert settings["cleanup.policy"].value == "compact"
    assert settings["retention.ms"].value == "12345"
    assert_arrived(messages, broker.consume_all(*counts), counts)


def test_broker_decides_unconfigured_settings(broker: KafkaBroker, make_sink: SinkFactory) -> None:
    Delivery(make_sink(broker.bootstrap, TopicCreation()), spread(["made-default"], 10)).run()
    assert broker.topics()["made-default"] == 1


def test_failed_topic_creation_states_the_reason(
    broker: KafkaBroker, make_sink: SinkFactory
) -> None:
    sink = make_sink(broker.bootstrap, TopicCreation(replication_factor=3))
    Delivery(sink, spread(["made-never"], 1)).step()
    assert "the topic made-never cannot be created: " in sink.state().message
    assert "replication factor" in sink.state().message.lower()
    wrong = make_sink(broker.bootstrap, TopicCreation(settings={"cleanup.polcy": "x"}))
    with pytest.raises(ConfigError, match=r"made-never.*topic\.creation\.default\.\*"):
        Delivery(wrong, spread(["made-never"], 1)).step()


def test_invalid_topic_name_is_a_config_error(broker: KafkaBroker, make_sink: SinkFactory) -> None:
    with pytest.raises(ConfigError, match=r"`a b` cannot be the name.*topic\.prefix"):
        Delivery(make_sink(broker.bootstrap), spread(["a b"], 1)).step()


def test_close_does_not_wait_for_an_unavailable_broker(
    make_sink: SinkFactory, impatient: None
) -> None:
    sink = make_sink(NOWHERE)
    Delivery(sink, spread(["any"], 10)).step()
    assert sink.close(0.1) == DeliveryResult()
    assert sink.close(0.1) == DeliveryResult()


@pytest.mark.parametrize(
    ("topic", "config", "settings", "sizes", "reason"),
    [
        pytest.param(
            "large-client",
            {},
            {"max_request_size": "20000"},
            {5: 30_000},
            "the Kafka client rejects it: ",
            id="the client",
        ),
        # The broker rejects whole batches; the valid events in them must arrive in order.
        pytest.param(
            "large-topic",
            {"max.message.bytes": "20000"},
            {},
            {20: 21_000, 21: 500_000, 80: 30_000},
            "",
            id="its topic",
        ),
    ],
)
def test_oversized_event_is_the_only_failure(
    broker: KafkaBroker,
    make_sink: SinkFactory,
    topic: str,
    config: dict[str, str],
    settings: dict[str, str],
    sizes: dict[int, int],
    reason: str,
) -> None:
    broker.create_topic(topic, 1, config)
    messages = [incompressible(topic, n, sizes.get(n, 1000)) for n in range(100)]
    delivery = Delivery(make_sink(broker.bootstrap, **settings), messages)
    delivery.run()
    assert sorted(delivery.failed) == sorted(sizes)
    assert all(reason in each for each in delivery.failed.values())
    assert bool(delivery.restarts) == bool(config)
    assert all("max.message.bytes" in restart for restart in delivery.restarts)
    last_seen = {record.key: record.offset for record in broker.consume_all(topic)}
    expected = [b"%d" % n for n in range(100) if n not in sizes]
    assert sorted(last_seen, key=lambda key: last_seen[key]) == expected


def test_events_wait_while_the_broker_rejects_the_clock(
    broker: KafkaBroker, make_sink: SinkFactory
) -> None:
    """It concerns all events, so none is a dead letter: they arrive once the clocks agree."""
    known = tuple(map(int, VERSION.split(".")[:2])) >= (3, 6)
    name = f"message.timestamp.{'before' if known else 'difference'}.max.ms"
    broker.create_topic("clock", 1, {name: "0"})
    delivery = Delivery(make_sink(broker.bootstrap, linger_ms="50"), spread(["clock"], 10))
    delivery.until(lambda: bool(delivery.restarts), "the rejection")
    assert "the clock of this machine" in delivery.restarts[0]
    delivery.until(lambda: "check the clock" in delivery.restarts[-1], "a batch of one event")
    topic = ConfigResource(ResourceType.TOPIC, "clock")
    topic.add_incremental_config(
        ConfigEntry(name, "3600000", incremental_operation=AlterConfigOpType.SET)
    )
    broker.admin().incremental_alter_configs([topic])[topic].result()
    delivery.run()
    assert delivery.failed == {}
    assert len({record.key for record in broker.consume_all("clock")}) == 10


def test_events_wait_for_a_deleted_topic(broker: KafkaBroker, make_sink: SinkFactory) -> None:
    broker.create_topic("deleted", 2)
    sink = make_sink(broker.bootstrap, topic_metadata_propagation_max_ms="1000")
    Delivery(sink, spread(["deleted"], 10)).run()
    broker.admin().delete_topics(["deleted"], operation_timeout=60)["deleted"].result()
    wait_until(lambda: "deleted" not in broker.topics(), "the topic to be gone")
    delivery = Delivery(sink, spread(["deleted"], 50))
    delivery.until(lambda: sink.state().topics == ("deleted",), "the report")
    state = sink.state()
    assert (state.healthy, state.code) == (False, "topic_missing"), "no topic is left"
    broker.create_topic("deleted", 1)
    delivery.run()
    assert len(broker.consume_all("deleted")) == 50


def test_invalid_producer_setting_is_a_config_error(make_sink: SinkFactory) -> None:
    with pytest.raises(ConfigError, match="compression"):
        make_sink(NOWHERE, compression_type="brotli")


def test_client_log_messages_are_rate_limited(
    make_sink: SinkFactory, impatient: None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    sink = make_sink(NOWHERE, reconnect_backoff_ms="10", reconnect_backoff_max_ms="10")
    wait_until(lambda: sink.poll(0.1) == DeliveryResult() and bool(caplog.records), "a line")
    for _ in range(10):
        sink.poll(0.05)
    (line,) = caplog.records
    assert line.levelname == "INFO", "the sink reports what an operator can do"
    assert line.getMessage().startswith("Kafka client: ")
    assert "Connection refused" in line.getMessage()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (KafkaError(KafkaError._FATAL, "fenced", fatal=True), SinkRestartError),
        (KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "no", fatal=True), AccessDeniedError),
        (KafkaError(KafkaError._AUTHENTICATION, "wrong password"), AccessDeniedError),
    ],
)
def test_client_error_raises_its_exception(
    make_sink: SinkFactory, impatient: None, error: KafkaError, kind: type[Exception]
) -> None:
    sink = make_sink(NOWHERE)
    sink.client.on_error(error)
    with pytest.raises(kind):
        sink.poll(0)
