"""Events that a broker rejects in transactions, and commits whose answer a proxy drops."""

import os
from collections.abc import Iterable, Iterator

import pytest

from sidecar.sinks.kafka.transactions.contents import CommitRule
from tests.support.agents.exactly_once import (
    COMPACTED,
    ExactDelivery,
    Mutation,
    Source,
    arrived,
    contents,
    position,
    records,
    single,
    stored,
)
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.kafka_proxy import END_TXN, KafkaProxy
from tests.support.sinks.kafka_sinks import LaterClock, MakeDelivery, MakeSink

pytestmark = pytest.mark.servers


def incompressible(topic: str, sizes: Iterable[int], first: int = 0) -> list[Mutation]:
    """One event each, with values of these sizes."""
    return [
        [(topic, b"%d" % number, os.urandom(size), [], number)]
        for number, size in enumerate(sizes, first)
    ]


def without_key(topic: str) -> Mutation:
    """Event that is invalid in a compacted topic. The client reports its whole batch as invalid."""
    return [(topic, b"", b"no key", [], 0)]


@pytest.mark.parametrize("limit", ["client", "topic"])
def test_rejected_event_is_a_dead_letter_among_committed_events(
    broker: KafkaBroker, exactly: MakeDelivery, limit: str
) -> None:
    topic = f"tx-large-{limit}"
    settings = {"max_request_size": "20000"} if limit == "client" else {"batch_size": "10000"}
    large = {40, 41, 160}
    mutations = incompressible(topic, (30_000 if n in large else 100 for n in range(200)))
    may_keep = [False]
    delivery = exactly(
        topic,
        mutations,
        {"max.message.bytes": "20000"} if limit == "topic" else {},
        stores_rejected=lambda: may_keep[0],
        **settings,
    )
    delivery.until(lambda: bool(delivery.failed), "the rejection")
    delivery.until(
        lambda: "is not yet recorded as a dead letter" in delivery.sink.state().message,
        "its report",
    )
    for _ in range(5):
        delivery.step()
    # Delivery does not pass an event that is not recorded yet.
    assert delivery.done <= 400
    may_keep[0] = True
    delivery.run()
    assert sorted(map(int, delivery.failed)) == sorted(large)
    assert delivery.restarts == []
    kept = [mutation for n, mutation in enumerate(mutations) if n not in large]
    assert arrived(broker, topic) == contents(kept)
    assert stored(broker, f"{topic}-positions")[-1] == (b"shop", position(2000))


def test_oversized_batch_is_resent_in_smaller_batches(
    broker: KafkaBroker, exactly: MakeDelivery
) -> None:
    mutations = incompressible("tx-small", (21_000 if n == 70 else 1000 for n in range(100)))
    delivery = exactly("tx-small", mutations, {"max.message.bytes": "20000"})
    delivery.run()
    assert list(delivery.failed) == [b"70"]
    assert all("max.message.bytes" in restart for restart in delivery.restarts)
    assert arrived(broker, "tx-small") == contents(mutations[:70] + mutations[71:])


def test_transaction_batches_grow_after_an_invalid_event(
    broker: KafkaBroker, exactly: MakeDelivery
) -> None:
    """A second rejection proves that the batches are large again."""
    topic, clock = "tx-grows", LaterClock()
    good = incompressible(topic, [300] * 40)
    mutations = [*good[:10], without_key(topic), *good[10:20]]
    delivery = exactly(topic, mutations, COMPACTED, clock=clock, batch_size="4000")
    delivery.run()
    assert list(delivery.failed) == [b""]
    clock.ahead_s += 61
    mutations += [*good[20:30], without_key(topic), *good[30:]]
    delivery = ExactDelivery(delivery.sink, Source(mutations))
    delivery.run()
    assert list(delivery.failed) == [b""]
    grown, refused, *_ = delivery.restarts
    assert "uses large batches again" in grown
    assert "rejected a batch of events" in refused
    assert arrived(broker, topic) == contents(good)


@pytest.fixture
def proxy(broker: KafkaBroker) -> Iterator[KafkaProxy]:
    with KafkaProxy(broker.proxy_port, broker.proxied_port) as started:
        yield started


def test_commit_with_a_lost_answer_is_not_repeated(
    broker: KafkaBroker, proxy: KafkaProxy, exactly: MakeDelivery
) -> None:
    """The broker has committed, but its answer is lost: the sink asks until the broker confirms."""
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


def test_next_instance_resumes_after_a_lost_commit_answer(
    broker: KafkaBroker, proxy: KafkaProxy, make_exact: MakeSink, exactly: MakeDelivery
) -> None:
    """The instance that committed never gets the answer: only the topic contains the commit."""
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
