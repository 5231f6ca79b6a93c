"""The transactional Kafka sink against a real broker."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest
from confluent_kafka import IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin._listoffsets import OffsetSpec

from sidecar.errors import ConfigError, LockedError, OffsetStoreError, SinkError, UnavailableError
from sidecar.events import NumberedBatch
from sidecar.offsets.position_store import PositionRecords
from sidecar.sinks.kafka.topics.metadata import TopicCreation
from sidecar.sinks.kafka.transactions.commit_rule import CommitRule
from sidecar.sinks.kafka.transactions.sink import TransactionalKafkaSink
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
    two_topics,
)
from tests.support.segments.batches import ListBatch, message
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import wait_until
from tests.support.sinks.kafka_sinks import QUICK, MakeSink

pytestmark = pytest.mark.servers

NEVER = CommitRule(interval_s=3600, position_interval_s=3600)
NOWHERE = "127.0.0.1:9"


def deliver_to(delivery: ExactDelivery, done: int) -> None:
    delivery.until(lambda: delivery.done >= done, "a part")


def finish(sink: TransactionalKafkaSink) -> None:
    """Until it has nothing to do."""

    def has_finished() -> bool:
        sink.poll(0.02)
        return not sink.has_work

    wait_until(has_finished, "the sink")


def make_plain(broker: KafkaBroker) -> Producer:
    return Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})


def last_stable_offset(broker: KafkaBroker, topic: str) -> int:
    """What a consumer of committed records can come to."""
    specs: Any = OffsetSpec
    place = TopicPartition(topic, 0)
    futures = broker.admin().list_offsets(
        {place: specs.latest()}, isolation_level=IsolationLevel.READ_COMMITTED
    )
    offset: int = futures[place].result(60).offset
    return offset


def test_events_and_position_are_committed_together(
    broker: KafkaBroker, make_exact: MakeSink
) -> None:
    broker.create_topic("together", 1)
    broker.create_topic("together-positions", 1, COMPACTED)
    where = records("together-positions", "shop")
    mutations = single("together", 3000)
    sink = make_exact(broker.bootstrap, where)
    assert sink.load().values == {}
    delivery = ExactDelivery(sink, Source(mutations))
    delivery.run()
    assert delivery.restarts == []
    assert sink.state().healthy
    assert arrived(broker, "together") == contents(mutations)
    sink.close(60)
    again = make_exact(broker.bootstrap, where)
    assert again.load().values == {"position": "30000"}
    assert stored(broker, "together-positions")[-1] == (b"shop", position(30_000))


def test_nothing_is_seen_before_the_commit(broker: KafkaBroker, make_exact: MakeSink) -> None:
    broker.create_topic("unseen", 1)
    broker.create_topic("unseen-positions", 1, COMPACTED)
    where = records("unseen-positions", "shop")
    sink = make_exact(broker.bootstrap, where, NEVER)
    delivery = ExactDelivery(sink, Source(single("unseen", 100)))
    delivery.until(
        lambda: len(broker.consume_all("unseen", committed_only=False)) == 100,
        "uncommitted records",
    )
    assert delivery.done == 0
    assert arrived(broker, "unseen") == []
    sink.close(60)
    assert len(arrived(broker, "unseen")) == 100
    assert stored(broker, "unseen-positions") == [(b"shop", position(1000))]


def test_batches_without_events_move_the_position(
    broker: KafkaBroker, make_exact: MakeSink
) -> None:
    broker.create_topic("quiet-positions", 1, COMPACTED)
    where = records("quiet-positions", "shop")
    sink = make_exact(broker.bootstrap, where)
    sink.load()
    for start in (10, 20, 30):
        assert sink.send(NumberedBatch("a", ListBatch(start, ()), 0), 0, 1.0) == 0
    wait_until(
        lambda: (
            (sink.poll(0.02), stored(broker, "quiet-positions"))[1][-1:]
            == [(b"shop", position(30))]
        ),
        "the position",
    )
    sink.send(NumberedBatch("a", ListBatch(40, ()), 0), 0, 1.0)
    sink.close(60)
    assert make_exact(broker.bootstrap, where).load().values == {"position": "40"}


def test_a_position_that_stays_is_not_stored_again(
    broker: KafkaBroker, make_exact: MakeSink
) -> None:
    broker.create_topic("still-positions", 1, COMPACTED)
    where = records("still-positions", "shop")
    for _ in range(2):
        sink = make_exact(broker.bootstrap, where)
        sink.load()
        for start in (10, 10):
            sink.send(NumberedBatch("a", ListBatch(start, ()), 0), 0, 1.0)
            finish(sink)
        sink.close(60)
    assert stored(broker, "still-positions") == [(b"shop", position(10))]


def test_each_source_has_a_position(broker: KafkaBroker, make_exact: MakeSink) -> None:
    broker.create_topic("sources-positions", 1, COMPACTED)
    where = records("sources-positions", "shop")
    both = {"position": "10", "b/position": "20"}
    for expected, source, start in (({}, "a", 10), ({"position": "10"}, "b", 20), (both, "a", 30)):
        sink = make_exact(broker.bootstrap, where)
        assert sink.load().values == expected
        sink.send(NumberedBatch(source, ListBatch(start, ()), 0), 0, 1.0)
        sink.close(60)
    values = make_exact(broker.bootstrap, where).load().values
    assert values == {"position": "30", "b/position": "20"}


def test_a_second_instance_takes_over(broker: KafkaBroker, make_exact: MakeSink) -> None:
    broker.create_topic("fenced", 1)
    broker.create_topic("fenced-positions", 1, COMPACTED)
    where = records("fenced-positions", "shop")
    mutations = single("fenced", 400)
    first = ExactDelivery(
        make_exact(broker.bootstrap, where, CommitRule(0.02, 0.02, max_events=100)),
        Source(mutations),
    )
    first.until(lambda: first.done > 0, "a commit")
    second = ExactDelivery(make_exact(broker.bootstrap, where), Source(mutations))
    assert second.done >= first.done
    with pytest.raises(LockedError, match="transactional id cdc-sidecar-shop took over") as raised:
        first.run()
    assert raised.value.exit_code == 3
    second.run()
    assert arrived(broker, "fenced") == contents(mutations)


def test_a_transaction_that_outlived_its_timeout_is_no_other_instance(
    own_broker: KafkaBroker, make_exact: MakeSink
) -> None:
    """Kafka ends a transaction that is open for too long and fences its producer. It begins again
    by itself."""
    own_broker.properties["transaction.abort.timed.out.transaction.cleanup.interval.ms"] = "100"
    own_broker.start()
    own_broker.create_topic("slow", 1)
    own_broker.create_topic("slow-positions", 1, COMPACTED)
    sink = make_exact(
        own_broker.bootstrap,
        records("slow-positions", "shop"),
        NEVER,
        transaction_timeout_ms="1000",
    )
    mutations = single("slow", 50)
    delivery = ExactDelivery(sink, Source(mutations))
    delivery.until(
        lambda: len(own_broker.consume_all("slow", committed_only=False)) == 50,
        "uncommitted records",
    )
    wait_until(lambda: last_stable_offset(own_broker, "slow") > 50, "the end of the transaction")
    sink.commit_rule = QUICK
    delivery.run()
    assert len(delivery.restarts) == 1
    assert "Kafka ended a transaction that was open for " in delivery.restarts[0]
    assert arrived(own_broker, "slow") == contents(mutations)


def test_a_broker_that_stops_and_one_that_crashes(
    own_broker: KafkaBroker, make_exact: MakeSink
) -> None:
    own_broker.start()
    own_broker.create_topic("restart", 1)
    own_broker.create_topic("restart-positions", 1, COMPACTED)
    mutations = single("restart", 10_000, value_bytes=200)
    sink = make_exact(
        own_broker.bootstrap,
        records("restart-positions", "shop"),
        CommitRule(0.05, 0.05, max_events=500),
        reconnect_backoff_max_ms="500",
    )
    delivery = ExactDelivery(sink, Source(mutations))
    for done, end in ((20_000, own_broker.kill), (60_000, own_broker.stop)):
        deliver_to(delivery, done)
        end()
        delivery.until(lambda: not sink.state().healthy, "the loss to be seen")
        assert f"no Kafka broker of {own_broker.bootstrap} " in sink.state().message
        own_broker.start()
    delivery.run()
    assert sink.state().healthy
    assert arrived(own_broker, "restart") == contents(mutations)


def test_missing_topic_does_not_block_earlier_events(
    broker: KafkaBroker, make_exact: MakeSink
) -> None:
    broker.create_topic("tx-there", 1)
    broker.create_topic("tx-there-positions", 1, COMPACTED)
    both = [message("tx-there", 3, 0), message("tx-missing", 4, 0)]
    mutations: list[Mutation] = [*single("tx-there", 3), both, [message("tx-there", 5, 0)]]
    delivery = ExactDelivery(
        make_exact(broker.bootstrap, records("tx-there-positions", "shop")), Source(mutations)
    )
    delivery.until(lambda: delivery.done == 30, "what can be sent")
    assert delivery.sink.state().topics == ("tx-missing",)
    # The event before the missing one is a part of the same mutation.
    assert arrived(broker, "tx-there") == contents(mutations[:3])
    broker.create_topic("tx-missing", 1)
    delivery.run()
    assert len(arrived(broker, "tx-there", "tx-missing")) == 6


def test_a_full_client_takes_only_a_part(broker: KafkaBroker, make_exact: MakeSink) -> None:
    broker.create_topic("tx-full", 1)
    broker.create_topic("full-positions", 1, COMPACTED)
    number = iter(range(10_000))
    mutations = [[message("tx-full", next(number), 0) for _ in range(7)] for _ in range(200)]
    delivery = ExactDelivery(
        make_exact(
            broker.bootstrap,
            records("full-positions", "shop"),
            queue_buffering_max_messages="100",
        ),
        Source(mutations),
    )
    delivery.run()
    assert arrived(broker, "tx-full") == contents(mutations)


def test_the_position_topic_is_made_compacted(broker: KafkaBroker, make_exact: MakeSink) -> None:
    creation = TopicCreation(3, 1, {"cleanup.policy": "delete", "retention.ms": "12345"})
    where = records("made-positions", "shop")
    delivery = ExactDelivery(
        make_exact(broker.bootstrap, where, creation=creation), Source(single("made-events", 9))
    )
    delivery.run()
    assert (broker.topics()["made-positions"], broker.topics()["made-events"]) == (1, 3)
    assert make_exact(broker.bootstrap, where).load().values == {"position": "90"}


def test_a_position_topic_that_is_not_there(
    broker: KafkaBroker, make_exact: MakeSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = make_exact(broker.bootstrap, records("absent-positions", "shop"))

    def says_so() -> bool:
        with pytest.raises(UnavailableError) as caught:
            sink.load()
        return "the topic absent-positions does not exist" in str(caught.value)

    with monkeypatch.context() as short:
        short.setattr("sidecar.sinks.kafka.transactions.sink._LOAD_S", 1.0)
        wait_until(says_so, "the answer of the broker")
    broker.create_topic("absent-positions", 1, COMPACTED)
    assert sink.load().values == {}


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_a_position_topic_that_forgets_is_rejected(
    broker: KafkaBroker, make_exact: MakeSink, policy: str
) -> None:
    topic = f"forgets-{policy.replace(',', '-')}"
    broker.create_topic(topic, 1, {"cleanup.policy": policy})
    with pytest.raises(ConfigError, match=rf"{topic} .position.topic. has cleanup.policy={policy}"):
        make_exact(broker.bootstrap, records(topic, "shop")).load()


def test_invalid_position(broker: KafkaBroker, make_exact: MakeSink) -> None:
    broker.create_topic("strange-positions", 1, COMPACTED)
    where = records("strange-positions", "shop")
    plain = make_plain(broker)
    plain.produce("strange-positions", b"[]", b"shop", 0)
    plain.flush(60)
    with pytest.raises(OffsetStoreError, match="the topic strange-positions"):
        make_exact(broker.bootstrap, where).load()


def test_a_position_that_the_topic_rejects(broker: KafkaBroker, make_exact: MakeSink) -> None:
    broker.create_topic("tight-positions", 1, {**COMPACTED, "max.message.bytes": "200"})
    where = PositionRecords(
        "tight-positions", "shop", lambda source, position: {"long": os.urandom(500).hex()}
    )
    sink = make_exact(broker.bootstrap, where)
    sink.load()
    sink.send(NumberedBatch("a", ListBatch(5, ()), 0), 0, 1.0)
    with pytest.raises(SinkError, match=r"tight-positions .position.topic. rejects the position"):
        wait_until(lambda: bool(sink.poll(0.02).acknowledged), "the rejection")


def test_the_position_is_found_among_many_and_behind_open_transactions(
    broker: KafkaBroker, make_exact: MakeSink
) -> None:
    """Agents share a topic. The last record of one lies far from the end, and before it another
    one has a transaction open."""
    broker.create_topic("shared-positions", 1, COMPACTED)
    broker.create_topic("shared", 1)
    old = make_exact(broker.bootstrap, records("shared-positions", "old"))
    old.load()
    old.send(NumberedBatch("a", ListBatch(70, ()), 0), 0, 1.0)
    old.close(60)
    plain = make_plain(broker)
    for number in range(1500):
        plain.produce("shared-positions", position(number), b"busy", 0)
    plain.flush(60)
    assert make_exact(broker.bootstrap, records("shared-positions", "old")).load().values == {
        "position": "70"
    }
    new = make_exact(broker.bootstrap, records("shared-positions", "new"))
    new.load()
    other = make_exact(broker.bootstrap, records("shared-positions", "other"), NEVER)
    other.load()
    # What `other` leaves open is a record of the position topic itself.
    assert other.transactions is not None
    transactions = other.transactions
    transactions.begin()
    other.client.producer().produce("shared-positions", position(1), b"other", 0)
    other.client.producer().flush(60)
    new.send(NumberedBatch("a", ListBatch(90, ()), 0), 0, 1.0)
    new.close(60)
    reader = make_exact(broker.bootstrap, records("shared-positions", "new"))
    found = []
    thread = threading.Thread(target=lambda: found.append(reader.load().values))
    thread.start()
    thread.join(1)
    assert found == []
    transactions.abort()
    wait_until(lambda: transactions.wait(0.1) is not None, "the abort")
    thread.join(60)
    assert found == [{"position": "90"}]


def test_a_broker_that_is_not_there_yet(
    make_exact: MakeSink, impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.sinks.kafka.transactions.sink._LOAD_S", 0.1)
    sink = make_exact(NOWHERE, records("positions", "shop"))
    with pytest.raises(UnavailableError, match=rf"no Kafka broker of {NOWHERE} answers"):
        sink.load()
    with pytest.raises(RuntimeError, match=r"load\(\) must be called before send"):
        sink.send(NumberedBatch("a", ListBatch(5, ()), 0), 0, 1.0)
    sink.close(0.1)
    sink.close(0.1)


def test_a_timeout_that_the_broker_does_not_allow(
    broker: KafkaBroker, make_exact: MakeSink
) -> None:
    sink = make_exact(
        broker.bootstrap, records("positions", "shop"), transaction_timeout_ms="100000000"
    )
    with pytest.raises(ConfigError, match=r"transaction\.timeout\.ms` is 100000000, which is more"):
        sink.load()


def test_a_killed_process_repeats_nothing(broker: KafkaBroker) -> None:
    """Operator's story: the process is killed again and again while it delivers. Who reads what is
    committed sees each event once, in order, and a mutation wholly or not at all."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for topic, partitions in (("exact-a", 1), ("exact-b", 3)):
        broker.create_topic(topic, partitions)
    broker.create_topic("exact-positions", 1, COMPACTED)
    count = 3000
    mutations = two_topics(count)
    kills = sorted(chance.randrange(10 * count * 9 // 10) for _ in range(5))
    command = [sys.executable, "-m", "tests.support.agents.exactly_once"]
    for kill_at in [*kills, None]:
        with subprocess.Popen(
            [*command, broker.bootstrap, str(count)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if kill_at is not None and int(line) >= kill_at:
                    process.send_signal(signal.SIGKILL)
                    break
        assert process.returncode == (0 if kill_at is None else -signal.SIGKILL)
    expected = sorted(message[1] for mutation in mutations for message in mutation)
    seen = [record.key or b"" for record in broker.consume_all("exact-a", "exact-b")]
    assert sorted(seen) == expected
    by_place: dict[tuple[str, int], list[int]] = {}
    for record in broker.consume_all("exact-a", "exact-b"):
        number = json.loads(record.value or b"")["n"]
        by_place.setdefault((record.topic, record.partition), []).append(number)
    assert all(numbers == sorted(numbers) for numbers in by_place.values())
