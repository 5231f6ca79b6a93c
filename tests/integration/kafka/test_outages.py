"""Both Kafka sinks with a broker that is not running, stops, is killed, hangs or closes
connections.

The tests stop their broker, so they share one that other tests do not use.
"""

import os
import signal
import socketserver
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from sidecar.sinks.base import DeliveryResult
from sidecar.sinks.kafka.sink import KafkaSink
from sidecar.sinks.kafka.topics.metadata import TopicCreation
from sidecar.sinks.kafka.transactions.contents import CommitRule
from sidecar.sinks.kafka.transactions.sink import TransactionalKafkaSink
from tests.support.agents.exactly_once import (
    ExactDelivery,
    Source,
    arrived,
    contents,
    single,
    with_positions,
)
from tests.support.segments.batches import message
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import freeze, wait_until
from tests.support.sinks.kafka_sinks import LaterClock, MakeSink, SinkFactory
from tests.support.sinks.sink_driving import (
    Delivery,
    Sending,
    assert_arrived,
    incompressible,
    made_small,
)

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """Broker that is not started."""
    # A killed broker cannot register again before its last session expires.
    sessions = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
    directory = tmp_path_factory.mktemp("outages") / "kafka"
    broker = KafkaBroker(directory, heap_mib=256, properties=sessions)
    yield broker
    if broker.is_running:
        broker.kill()


@pytest.fixture
def running_broker(own_broker: KafkaBroker) -> KafkaBroker:
    if not own_broker.is_running:
        own_broker.start()
    return own_broker


def is_reported(sink: KafkaSink | TransactionalKafkaSink, broker: KafkaBroker) -> bool:
    state = sink.state()
    return not state.healthy and f"no Kafka broker of {broker.bootstrap} " in state.message


def test_kafka_sink_waits_for_a_broker_to_start(
    own_broker: KafkaBroker, make_sink: SinkFactory, impatient: None
) -> None:
    if own_broker.is_running:
        own_broker.kill()
    sink = make_sink(own_broker.bootstrap, TopicCreation(), reconnect_backoff_max_ms="500")
    assert not sink.state().healthy
    own_broker.start()
    wait_until(lambda: sink.poll(0.05) == DeliveryResult() and sink.state().healthy, "the broker")
    Delivery(sink, [message("late", number, number) for number in range(10)]).run()


def test_frozen_broker_is_reported_before_a_first_event(
    running_broker: KafkaBroker, make_sink: SinkFactory
) -> None:
    """The broker keeps its connections without answering, and no sent event waits."""
    for topic in ("first", "new"):
        running_broker.create_topic(topic, 1)
    sink = make_sink(running_broker.bootstrap)
    pid = running_broker.pid
    assert pid is not None
    Delivery(sink, [message("first", 0, 0)]).run()
    freeze(pid)
    try:
        delivery = Delivery(sink, [message("new", 0, 0)])
        delivery.until(lambda: is_reported(sink, running_broker), "the report")
    finally:
        os.kill(pid, signal.SIGCONT)
    delivery.run()
    assert sink.state().healthy


def test_broker_crash_and_stop_lose_no_events(
    running_broker: KafkaBroker, make_sink: SinkFactory, make_exact: MakeSink
) -> None:
    broker = running_broker
    broker.create_topic("plain", 3)
    messages = [message("plain", number, number * 7919, 200) for number in range(20_000)]
    # Small batches and transactions, so that many events are in flight at each outage.
    sink = make_sink(broker.bootstrap, batch_size="5000", reconnect_backoff_max_ms="500")
    plain = Delivery(sink, messages)
    mutations = single("exact", 8_000, value_bytes=200)
    exact_sink = make_exact(
        broker.bootstrap,
        with_positions(broker, "exact"),
        CommitRule(0.05, 0.05, max_events=500),
        reconnect_backoff_max_ms="500",
    )
    exact = ExactDelivery(exact_sink, Source(mutations))
    for answered, done, end in ((1, 20_000, broker.kill), (5_000, 50_000, broker.stop)):
        exact.reach(done)
        plain.reach(answered)
        end()
        plain.until(lambda: is_reported(sink, broker), "the loss to be seen")
        exact.until(lambda: is_reported(exact_sink, broker), "the loss to be seen")
        broker.start()
    plain.run()
    exact.run()
    assert (plain.failed, plain.restarts) == ({}, [])
    plain.until(lambda: sink.state().healthy, "the end of the loss to be seen")
    exact.until(lambda: exact_sink.state().healthy, "the end of the loss to be seen")
    assert_arrived(messages, broker.consume_all("plain"), {"plain": 3})
    assert arrived(broker, "exact") == contents(mutations)


def test_undeliverable_events_delay_others_only_briefly(
    running_broker: KafkaBroker, make_sink: SinkFactory
) -> None:
    clock = LaterClock()
    sink = make_sink(running_broker.bootstrap, clock=clock)
    made_small(running_broker, sink, "waited")
    running_broker.kill()
    sending = Sending(sink, [incompressible("waited", number, 1) for number in range(1, 1000)])
    assert sending.send_some() > 0
    clock.ahead_s += 61
    assert sending.send_some() == 0
    clock.ahead_s += 3
    assert sending.send_some() > 0, "it does not wait any more"


_OBSERVED_S = 3.0
_MOST_PER_S = 4.0
_AT_START = 4


class ClosingServer(socketserver.TCPServer):
    """Counts connections, and closes each at once."""

    connections = 0

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections += 1
        self.shutdown_request(request)


@pytest.fixture
def server() -> Iterator[ClosingServer]:
    with ClosingServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_unavailable_broker_gets_few_connection_attempts(
    server: ClosingServer, make_sink: SinkFactory, impatient: None
) -> None:
    """The bound is a rate, so a slow machine only lowers the count."""
    began_s = time.monotonic()
    sink = make_sink(f"127.0.0.1:{server.server_address[1]}")
    while time.monotonic() - began_s < _OBSERVED_S:
        sink.poll(0.1)
    elapsed_s = time.monotonic() - began_s
    assert not sink.state().healthy
    assert 0 < server.connections <= _AT_START + _MOST_PER_S * elapsed_s
