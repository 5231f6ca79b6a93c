"""A broker that rejects the first events of a partition, because it does not have it yet, and then
accepts the next ones (KAFKA-15591): the client reports all of them as written."""

from collections.abc import Iterator

import pytest

from tests.support.agents.exactly_once import arrived, contents, single
from tests.support.segments.batches import message
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.kafka_proxy import KafkaProxy
from tests.support.sinks.kafka_sinks import MakeDelivery, SinkFactory
from tests.support.sinks.sink_driving import Delivery

pytestmark = pytest.mark.servers

PARTITIONS, COUNT = 3, 300
ONE_BY_ONE = {"batch_num_messages": "1", "linger_ms": "0"}
"""Many requests are in flight."""


@pytest.fixture
def proxy(broker: KafkaBroker) -> Iterator[KafkaProxy]:
    with KafkaProxy(broker.proxy_port, broker.proxied_port) as started:
        started.rejects_first = True
        yield started


def test_unconfirmed_events_are_sent_again(
    broker: KafkaBroker, proxy: KafkaProxy, make_sink: SinkFactory
) -> None:
    broker.create_topic("new", PARTITIONS)
    messages = [message("new", number, number) for number in range(COUNT)]
    delivery = Delivery(make_sink(f"127.0.0.1:{broker.proxy_port}", **ONE_BY_ONE), messages)
    delivery.run()
    assert {partition for _, partition in proxy.rejected} == set(range(PARTITIONS))
    records = broker.consume_all("new")
    last = {(record.partition, record.key): record for record in records}
    values = {key: record.value for (_, key), record in last.items()}
    assert values == {key: value for _, key, value, *_ in messages}
    for partition in range(PARTITIONS):
        places = [(partition, key) for _, key, *_ in messages]
        offsets = [last[place].offset for place in places if place in last]
        assert offsets == sorted(offsets)
    assert "later events of the topic new are confirmed" in delivery.restarts[0]


def test_unconfirmed_events_are_not_committed(
    broker: KafkaBroker, proxy: KafkaProxy, exactly: MakeDelivery
) -> None:
    mutations = single("tx-new", COUNT)
    bootstrap = f"127.0.0.1:{broker.proxy_port}"
    delivery = exactly("tx-new", mutations, bootstrap=bootstrap, **ONE_BY_ONE)
    delivery.run()
    assert ("tx-new", 0) in proxy.rejected
    assert arrived(broker, "tx-new") == contents(mutations)
    assert any(
        "later events of the topic tx-new are confirmed" in each for each in delivery.restarts
    )
