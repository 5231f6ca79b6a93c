"""The transactional Kafka sink with a real broker."""

import json
import os
import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin._listoffsets import OffsetSpec

from sidecar.errors import ConfigError, LockedError, OffsetStoreError, SinkError, UnavailableError
from sidecar.events import NumberedBatch
from sidecar.offsets.position_store import PositionRecords
from sidecar.sinks.kafka.topics.metadata import TopicCreation
from sidecar.sinks.kafka.transactions.contents import CommitRule
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
from tests.support.seeds import draw_seed
from tests.support.segments.batches import ListBatch, message
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import DEADLINE_S, wait_until
from tests.support.sinks.kafka_sinks import QUICK, MakeDelivery, MakeSink

pytestmark = pytest.mark.servers

NEVER = CommitRule(interval_s=3600, position_interval_s=3600)
NOWHERE = "127.0.0.1:9"


def positions_of(broker: KafkaBroker, topic: str) -> PositionRecords:
    broker.create_topic(topic, 1, COMPACTED)
    return records(topic, "shop")


def reach(sink: TransactionalKafkaSink, position: int, source: str = "a") -> None:
    """Advance the position by a batch without events."""
    batch = ListBatch(position, ())
    assert sink.send(NumberedBatch(source, batch, 0), 0, 1.0) == 0


def finish(sink: TransactionalKafkaSink) -> None:
    """Poll until the sink is idle."""

    def has_finished() -> bool:
        sink.poll(0.02)
        return not sink.has_work

    wait_until(has_finished, "the sink")


def wait_for_uncommitted(broker: KafkaBroker, delivery: ExactDelivery, topic: str) -> None:
    count = len(delivery.source.mutations)
    delivery.until(
        lambda: len(broker.consume_all(topic, committed_only=False)) == count, "uncommitted records"
    )


def produce(broker: KafkaBroker, topic: str, values: list[bytes], key: bytes) -> None:
    plain = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for value in values:
        plain.produce(topic, value, key, 0)
    plain.flush(DEADLINE_S)


def last_stable_offset(broker: KafkaBroker, topic: str) -> int:
    """Offset that a read-committed consumer can reach."""
    specs: Any = OffsetSpec
    place = TopicPartition(topic, 0)
    futures = broker.admin().list_offsets(
        {place: specs.latest()}, isolation_level=IsolationLevel.READ_COMMITTED
    )
    offset: int = futures[place].result().offset
    return offset


def test_events_and_position_are_committed_together(
    broker: KafkaBroker, make_exact: MakeSink, exactly: MakeDelivery
) -> None:
    mutations = single("together", 3000)
    delivery = exactly("together", mutations)
    assert delivery.done == 0
    delivery.run()
    assert delivery.restarts == []
    assert delivery.sink.state().healthy
    assert arrived(broker, "together") == contents(mutations)
    delivery.sink.close(DEADLINE_S)
    again = make_exact(broker.bootstrap, records("together-positions", "shop"))
    assert again.load().values == {"position": "30000"}
    assert stored(broker, "together-positions")[-1] == (b"shop", position(30_000))


def test_consumers_see_no_event_before_commit(broker: KafkaBroker, exactly: MakeDelivery) -> None:
    delivery = exactly("unseen", single("unseen", 100), rule=NEVER)
    wait_for_uncommitted(broker, delivery, "unseen")
    assert delivery.done == 0
    assert arrived(broker, "unseen") == []
    delivery.sink.close(DEADLINE_S)
    assert len(arrived(broker, "unseen")) == 100
    assert stored(broker, "unseen-positions") == [(b"shop", position(1000))]


def test_batches_without_events_advance_the_position(
    broker: KafkaBroker, make_exact: MakeSink
) -> None:
    where = positions_of(broker, "quiet-positions")
    sink = make_exact(broker.bootstrap, where)
    sink.load()
    for start in (10, 20, 30):
        reach(sink, start)
    finish(sink)
    assert stored(broker, "quiet-positions")[-1] == (b"shop", position(30))
    reach(sink, 40)
    sink.close(DEADLINE_S)
    assert make_exact(broker.bootstrap, where).load().values == {"position": "40"}


def test_unchanged_position_is_stored_once(broker: KafkaBroker, make_exact: MakeSink) -> None:
    where = positions_of(broker, "still-positions")
    for _ in range(2):
        sink = make_exact(broker.bootstrap, where)
        sink.load()
        for start in (10, 10):
            reach(sink, start)
            finish(sink)
        sink.close(DEADLINE_S)
    assert stored(broker, "still-positions") == [(b"shop", position(10))]


def test_each_source_has_its_own_position(broker: KafkaBroker, make_exact: MakeSink) -> None:
    where = positions_of(broker, "sources-positions")
    both = {"position": "10", "b/position": "20"}
    for expected, source, start in (({}, "a", 10), ({"position": "10"}, "b", 20), (both, "a", 30)):
        sink = make_exact(broker.bootstrap, where)
        assert sink.load().values == expected
        reach(sink, start, source)
        sink.close(DEADLINE_S)
    values = make_exact(broker.bootstrap, where).load().values
    assert values == {"position": "30", "b/position": "20"}


def test_second_instance_fences_the_first(
    broker: KafkaBroker, make_exact: MakeSink, exactly: MakeDelivery
) -> None:
    mutations = single("fenced", 400)
    first = exactly("fenced", mutations, rule=CommitRule(0.02, 0.02, max_events=100))
    first.until(lambda: first.done > 0, "a commit")
    second = exactly("fenced", mutations)
    assert second.done >= first.done
    with pytest.raises(LockedError, match="transactional id cdc-sidecar-shop took over") as raised:
        first.run()
    assert raised.value.exit_code == 3
    second.run()
    assert arrived(broker, "fenced") == contents(mutations)


def test_expired_transaction_is_restarted(broker: KafkaBroker, exactly: MakeDelivery) -> None:
    """Kafka aborts a transaction that exceeds its timeout and fences its producer. The sink resumes
    by itself."""
    mutations = single("slow", 50)
    delivery = exactly("slow", mutations, rule=NEVER, transaction_timeout_ms="1000")
    wait_for_uncommitted(broker, delivery, "slow")
    wait_until(lambda: last_stable_offset(broker, "slow") > 50, "the end of the transaction")
    delivery.sink.commit_rule = QUICK
    delivery.run()
    # A machine that stalls for a second causes another restart.
    assert delivery.restarts
    for restart in delivery.restarts:
        assert "Kafka ended a transaction that was open for " in restart
    assert arrived(broker, "slow") == contents(mutations)


def test_missing_topic_does_not_block_earlier_events(
    broker: KafkaBroker, exactly: MakeDelivery
) -> None:
    both = [message("tx-there", 3, 0), message("tx-missing", 4, 0)]
    mutations: list[Mutation] = [*single("tx-there", 3), both, [message("tx-there", 5, 0)]]
    delivery = exactly("tx-there", mutations)
    delivery.until(lambda: delivery.done == 30, "what can be sent")
    state = delivery.sink.state()
    assert (state.healthy, state.topics) == (False, ("tx-missing",)), "later events wait"
    # The event before the missing topic's event belongs to the same mutation.
    assert arrived(broker, "tx-there") == contents(mutations[:3])
    broker.create_topic("tx-missing", 1)
    delivery.run()
    assert len(arrived(broker, "tx-there", "tx-missing")) == 6


def test_full_client_queue_loses_no_mutation(broker: KafkaBroker, exactly: MakeDelivery) -> None:
    number = iter(range(10_000))
    mutations = [[message("tx-full", next(number), 0) for _ in range(7)] for _ in range(200)]
    exactly("tx-full", mutations, queue_buffering_max_messages="100").run()
    assert arrived(broker, "tx-full") == contents(mutations)


def test_position_topic_is_created_compacted(broker: KafkaBroker, make_exact: MakeSink) -> None:
    creation = TopicCreation(3, 1, {"cleanup.policy": "delete", "retention.ms": "12345"})
    where = records("made-positions", "shop")
    sink = make_exact(broker.bootstrap, where, creation=creation)
    ExactDelivery(sink, Source(single("made-events", 9))).run()
    assert (broker.topics()["made-positions"], broker.topics()["made-events"]) == (1, 3)
    assert make_exact(broker.bootstrap, where).load().values == {"position": "90"}


def test_missing_position_topic_is_reported(
    broker: KafkaBroker, make_exact: MakeSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = make_exact(broker.bootstrap, records("absent-positions", "shop"))

    def says_so() -> bool:
        with pytest.raises(UnavailableError) as caught:
            sink.load()
        return "the topic absent-positions does not exist" in str(caught.value)

    with monkeypatch.context() as short:
        short.setattr("sidecar.sinks.kafka.transactions.sink._LOAD_S", 0.5)
        wait_until(says_so, "the answer of the broker")
    broker.create_topic("absent-positions", 1, COMPACTED)
    assert sink.load().values == {}


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_position_topic_with_deletion_is_rejected(
    broker: KafkaBroker, make_exact: MakeSink, policy: str
) -> None:
    topic = f"forgets-{policy.replace(',', '-')}"
    broker.create_topic(topic, 1, {"cleanup.policy": policy})
    with pytest.raises(ConfigError, match=rf"{topic} .position.topic. has cleanup.policy={policy}"):
        make_exact(broker.bootstrap, records(topic, "shop")).load()


def test_invalid_position_is_an_offset_error(broker: KafkaBroker, make_exact: MakeSink) -> None:
    where = positions_of(broker, "strange-positions")
    produce(broker, "strange-positions", [b"[]"], b"shop")
    with pytest.raises(OffsetStoreError, match="the topic strange-positions"):
        make_exact(broker.bootstrap, where).load()


def test_rejected_position_is_a_sink_error(broker: KafkaBroker, make_exact: MakeSink) -> None:
    broker.create_topic("tight-positions", 1, {**COMPACTED, "max.message.bytes": "200"})
    where = PositionRecords(
        "tight-positions", "shop", lambda source, position: {"long": os.urandom(500).hex()}
    )
    sink = make_exact(broker.bootstrap, where)
    sink.load()
    reach(sink, 5)
    with pytest.raises(SinkError, match=r"tight-positions .position.topic. rejects the position"):
        wait_until(lambda: bool(sink.poll(0.02).acknowledged), "the rejection")


def test_position_is_found_behind_open_transactions(
    broker: KafkaBroker, make_exact: MakeSink
) -> None:
    """Agents share a topic. The last record of one agent is far from the end, and another agent has
    an open transaction before it."""
    topic = "shared-positions"
    positions_of(broker, topic)

    def loaded(name: str, **values: str) -> TransactionalKafkaSink:
        sink = make_exact(broker.bootstrap, records(topic, name))
        assert sink.load().values == values
        return sink

    old = loaded("old")
    reach(old, 70)
    old.close(DEADLINE_S)
    produce(broker, topic, [position(number) for number in range(1500)], b"busy")
    loaded("old", position="70")
    new, other = loaded("new"), loaded("other")
    # The open transaction of `other` contains a record of the position topic.
    transactions = other.transactions
    assert transactions is not None
    transactions.begin()
    other.client.producer().produce(topic, position(1), b"other", 0)
    other.client.producer().flush(DEADLINE_S)
    reach(new, 90)
    new.close(DEADLINE_S)
    reader = make_exact(broker.bootstrap, records(topic, "new"))
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(reader.load)
        wait_until(lambda: reader.transactions is not None, "the reader to begin")
        assert not found.done()
        transactions.abort()
        wait_until(lambda: transactions.wait(0.1) is not None, "the abort")
        assert found.result().values == {"position": "90"}


def test_unavailable_broker_fails_the_position_load(
    make_exact: MakeSink, impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.sinks.kafka.transactions.sink._LOAD_S", 0.1)
    sink = make_exact(NOWHERE, records("positions", "shop"))
    with pytest.raises(UnavailableError, match=rf"no Kafka broker of {NOWHERE} answers"):
        sink.load()
    with pytest.raises(RuntimeError, match=r"load\(\) must be called before send"):
        reach(sink, 5)
    sink.close(0.1)
    sink.close(0.1)


def test_excessive_transaction_timeout_is_a_config_error(
    broker: KafkaBroker, make_exact: MakeSink
) -> None:
    sink = make_exact(
        broker.bootstrap, records("positions", "shop"), transaction_timeout_ms="100000000"
    )
    with pytest.raises(ConfigError, match=r"transaction\.timeout\.ms` is 100000000, which is more"):
        sink.load()


def test_killed_exactly_once_process_repeats_nothing(broker: KafkaBroker) -> None:
    """Repeated kills during delivery: a read-committed consumer sees each event once and in order,
    and a mutation completely or not at all."""
    seed = draw_seed()
    chance = random.Random(seed)
    for topic, partitions in (("exact-a", 1), ("exact-b", 3)):
        broker.create_topic(topic, partitions)
    broker.create_topic("exact-positions", 1, COMPACTED)
    count = 2000
    mutations = two_topics(count)
    kills = sorted(chance.randrange(10 * count * 9 // 10) for _ in range(2))
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
