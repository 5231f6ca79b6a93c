"""A commit of the transactional sink whose answer a proxy in front of a real broker loses."""

from collections.abc import Iterator

import pytest

from sidecar.sinks.kafka.transactions.commit_rule import CommitRule
from tests.support.agents.exactly_once import (
    ExactDelivery,
    Source,
    arrived,
    contents,
    records,
    single,
)
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.kafka_proxy import END_TXN, KafkaProxy
from tests.support.sinks.kafka_sinks import MakeDelivery, MakeSink

pytestmark = pytest.mark.servers


@pytest.fixture
def proxy(broker: KafkaBroker) -> Iterator[KafkaProxy]:
    with KafkaProxy(broker.proxy_port, broker.proxied_port) as started:
        yield started


def test_a_commit_whose_answer_is_lost_is_not_made_twice(
    broker: KafkaBroker, proxy: KafkaProxy, exactly: MakeDelivery
) -> None:
    """The broker has committed, and nobody was told: it is asked again until it says so."""
    mutations = single("lost-answer", 2000)
    delivery = exactly(
        "lost-answer",
        mutations,
        bootstrap=f"127.0.0.1:{broker.proxy_port}",
        rule=CommitRule(0.02, 0.02, max_events=200),
        reconnect_backoff_max_ms="200",
    )
    for done in (4_000, 12_000):
        delivery.reach(done)
        lost = proxy.lost
        proxy.loses = END_TXN
        while proxy.lost == lost:
            delivery.step()
        proxy.loses = None
    delivery.run()
    assert arrived(broker, "lost-answer") == contents(mutations)


def test_next_instance_resumes_after_a_commit_with_a_lost_answer(
    broker: KafkaBroker, proxy: KafkaProxy, make_exact: MakeSink, exactly: MakeDelivery
) -> None:
    """The instance that committed never learns of it: only the topic tells."""
    mutations = single("never-told", 1000)
    proxied = f"127.0.0.1:{broker.proxy_port}"
    delivery = exactly(
        "never-told", mutations[:300], bootstrap=proxied, reconnect_backoff_max_ms="200"
    )
    proxy.loses = END_TXN
    delivery.until(lambda: proxy.lost > 0, "an answer that is lost")
    assert delivery.done == 0
    delivery.sink.close(0)
    second = make_exact(broker.bootstrap, records("never-told-positions", "shop"))
    assert int(second.load().values["position"]) > 0
    ExactDelivery(second, Source(mutations)).run()
    assert arrived(broker, "never-told") == contents(mutations)
