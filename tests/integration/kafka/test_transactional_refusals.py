"""Events that a broker refuses, in transactions."""

import os

import pytest

from sidecar.events import Message
from tests.support.agents.exactly_once import (
    COMPACTED,
    ExactDelivery,
    Mutation,
    Source,
    arrived,
    contents,
    position,
    records,
    stored,
)
from tests.support.servers.kafka import KafkaBroker
from tests.support.sinks.kafka_sinks import LaterClock, MakeSink

pytestmark = pytest.mark.servers


@pytest.mark.parametrize("limit", ["client", "topic"])
def test_a_rejected_event_is_a_dead_letter_and_the_others_are_committed(
    broker: KafkaBroker, make_exact: MakeSink, limit: str
) -> None:
    topic, positions = f"tx-large-{limit}", f"tx-large-{limit}-positions"
    broker.create_topic(topic, 1, {"max.message.bytes": "20000"} if limit == "topic" else {})
    broker.create_topic(positions, 1, COMPACTED)
    settings = {"max_request_size": "20000"} if limit == "client" else {"batch_size": "10000"}
    large = {40, 41, 160}
    mutations: list[Mutation] = [
        [(topic, b"%d" % n, os.urandom(30_000 if n in large else 100), [], n)] for n in range(200)
    ]
    may_keep = [False]
    delivery = ExactDelivery(
        make_exact(broker.bootstrap, records(positions, "shop"), **settings),
        Source(mutations),
        stores_rejected=lambda: may_keep[0],
    )
    delivery.until(lambda: bool(delivery.failed), "the rejection")
    delivery.until(
        lambda: "is not yet recorded as a dead letter" in delivery.sink.state().message,
        "its report",
    )
    for _ in range(5):
        delivery.step()
    # Nothing passes an event that nobody has kept.
    assert delivery.done <= 400
    may_keep[0] = True
    delivery.run()
    assert sorted(map(int, delivery.failed)) == sorted(large)
    assert delivery.restarts == []
    kept = [mutation for n, mutation in enumerate(mutations) if n not in large]
    assert arrived(broker, topic) == contents(kept)
    assert stored(broker, positions)[-1] == (b"shop", position(2000))


def test_a_batch_that_is_rejected_for_its_size_is_sent_in_smaller_ones(
    broker: KafkaBroker, make_exact: MakeSink
) -> None:
    broker.create_topic("tx-small", 1, {"max.message.bytes": "20000"})
    broker.create_topic("small-positions", 1, COMPACTED)
    mutations: list[Mutation] = [
        [("tx-small", b"%d" % n, os.urandom(21_000 if n == 70 else 1000), [], n)]
        for n in range(100)
    ]
    delivery = ExactDelivery(
        make_exact(broker.bootstrap, records("small-positions", "shop")), Source(mutations)
    )
    delivery.run()
    assert list(delivery.failed) == [b"70"]
    assert all("max.message.bytes" in restart for restart in delivery.restarts)
    assert arrived(broker, "tx-small") == contents(mutations[:70] + mutations[71:])


def test_an_event_that_its_topic_finds_invalid_is_found_in_its_batch(
    broker: KafkaBroker, make_exact: MakeSink
) -> None:
    """As a compacted topic does one without key. The client reports all of its batch as invalid."""
    broker.create_topic("tx-invalid", 1, COMPACTED)
    broker.create_topic("invalid-positions", 1, COMPACTED)
    mutations: list[Mutation] = [
        [("tx-invalid", b"%d" % number, os.urandom(300), [], number)] for number in range(40)
    ]
    without_key: Message = ("tx-invalid", b"", b"no key", [], 0)
    positions = records("invalid-positions", "shop")
    delivery = ExactDelivery(
        make_exact(broker.bootstrap, positions),
        Source([*mutations[:20], [without_key], *mutations[20:]]),
    )
    delivery.run()
    assert list(delivery.failed) == [b""]
    assert arrived(broker, "tx-invalid") == contents(mutations)


def test_batches_do_not_stay_small_for_one_invalid_event(
    broker: KafkaBroker, make_exact: MakeSink
) -> None:
    """That they are large again shows when another one is refused."""
    broker.create_topic("tx-grows", 1, COMPACTED)
    broker.create_topic("grows-positions", 1, COMPACTED)
    without_key: Mutation = [("tx-grows", b"", b"no key", [], 0)]

    def with_an_invalid_one(first: int) -> list[Mutation]:
        good: list[Mutation] = [
            [("tx-grows", b"%d" % number, os.urandom(300), [], number)]
            for number in range(first, first + 40)
        ]
        return [*good[:20], without_key, *good[20:]]

    clock = LaterClock()
    sink = make_exact(broker.bootstrap, records("grows-positions", "shop"), clock=clock)
    mutations = with_an_invalid_one(0)
    ExactDelivery(sink, Source(mutations)).run()
    clock.ahead_s += 61
    mutations += with_an_invalid_one(100)
    delivery = ExactDelivery(sink, Source(mutations))
    delivery.run()
    assert list(delivery.failed) == [b""]
    grown, refused, *_ = delivery.restarts
    assert "uses large batches again" in grown
    assert "rejected a batch of events" in refused
    assert arrived(broker, "tx-grows") == contents([m for m in mutations if m is not without_key])
