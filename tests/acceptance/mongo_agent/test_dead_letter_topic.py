"""Messages that are too large for a real topic or for the client arrive whole in the dead-letter
topic, or in a file if that topic rejects them. The agent stores its offset in a file, or in the
transactions of the events (exactly once)."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.support.mongodb.agent_command import CDC, ROOT
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.kafka import KafkaBroker, KafkaRecord

pytestmark = pytest.mark.servers

# No codec can compress this below the limit.
LARGE = random.Random(1).randbytes(40_000).hex()
NONE: Mapping[str, str] = MappingProxyType({})
SMALL: Mapping[str, str] = MappingProxyType({"max.message.bytes": "10000"})
# Longer than any test: events stay in an open transaction.
NO_COMMIT = "position.commit.interval.ms=3600000"


class Shop:
    """Agent with its own collection, whose topic rejects large events."""

    def __init__(
        self,
        name: str,
        folder: Path,
        replica_set: MongoReplicaSet,
        broker: KafkaBroker,
        store: str,
        *,
        limits: Mapping[str, str] = SMALL,
        dead_letter_limits: Mapping[str, str] = NONE,
    ) -> None:
        """`limits` are settings of the topic, `dead_letter_limits` of the dead-letter topic."""
        self.name = name
        self.topic, self.dead_letters = f"{name}.{name}.orders", f"{name}-dead-letters"
        self._broker, self._replica_set = broker, replica_set
        broker.create_topic(self.topic, 1, dict(limits))
        broker.create_topic(self.dead_letters, 1, dict(dead_letter_limits))
        broker.create_topic(f"{name}.position", 1, {"cleanup.policy": "compact"})
        offsets = folder / "offsets"
        offsets.mkdir()
        self.files = offsets / "quarantine"
        self.agent = AgentProcess(
            "mongo-agent",
            folder / "agent",
            {
                "topic.prefix": name,
                "mongodb.hosts": f"rs0/{replica_set.members[0]}",
                "mongodb.user": CDC.name,
                "mongodb.password": CDC.password,
                "database.include.list": name,
                "snapshot.mode": "no_data",
                "cursor.max.await.time.ms": 20,
                "offset.backing.store.dir": offsets,
                "kafka.producer.bootstrap.servers": broker.bootstrap,
                "errors.deadletterqueue.topic.name": self.dead_letters,
                "position.store": store,
            },
        )

    def start(self, *overrides: str) -> None:
        self.agent.launch(*overrides)

        def is_delivering() -> bool:
            health = self.agent.ask("/health")
            return health is not None and health["status"] != "failing"

        self.wait_until(is_delivering, "an agent")

    def insert(self) -> None:
        """Insert three documents, of which the second is too large for the topic."""
        with Client(
            self._replica_set.connection_string, username=ROOT.name, password=ROOT.password
        ) as root:
            documents = [{"_id": 1, "v": "a"}, {"_id": 2, "v": LARGE}, {"_id": 3, "v": "c"}]
            root[self.name].orders.insert_many(documents)

    def metric(self, name: str) -> float:
        lines = self.agent.get("/metrics").decode().splitlines()
        values = dict(line.rsplit(" ", 1) for line in lines)
        return float(values.get(name, "nan"))

    def delivered(self) -> list[int]:
        """`_id` of the events that a read-committed consumer receives."""
        return [id_of(record) for record in self._broker.consume_all(self.topic)]

    def letters(self) -> list[KafkaRecord]:
        return self._broker.consume_all(self.dead_letters)

    def wait_until(self, condition: Any, what: str) -> None:
        self.agent.wait_until(condition, what)


def names_the_ways_on(text: str) -> bool:
    ways = ("max.message.bytes", "kafka.producer.max.request.size", "field.exclude.list")
    return all(way in text for way in ways)


def id_of(record: KafkaRecord) -> int:
    assert record.key is not None
    return int(json.loads(json.loads(record.key)["id"]))


@pytest.mark.parametrize("store", [pytest.param("file", marks=pytest.mark.slow), "kafka"])
def test_oversized_event_is_a_dead_letter_among_delivered_events(
    tmp_path: Path, replica_set: MongoReplicaSet, broker: KafkaBroker, store: str
) -> None:
    shop = Shop(f"dlq{store}", tmp_path, replica_set, broker, store)
    with shop.agent:
        shop.start()
        shop.insert()
        shop.wait_until(lambda: len(shop.delivered()) == 2, "the other events")
        shop.wait_until(
            lambda: shop.metric("cdc_dead_letter_topic_events_total") == 1, "the dead letter"
        )
        shop.agent.stop()
        # The offset has passed all three events: the agent repeats none.
        shop.start()
        shop.agent.stop()
    assert shop.delivered() == [1, 3]
    (letter,) = shop.letters()
    assert id_of(letter) == 2
    headers = dict(letter.headers)
    assert headers["__connect.errors.topic"].decode() == shop.topic
    assert headers["__connect.errors.connector.name"].decode() == shop.name
    assert headers["__connect.errors.exception.class.name"].endswith(b"TooLargeException")
    assert LARGE.encode() in (letter.value or b"")
    assert names_the_ways_on(headers["cdc.dead.letter.reason"].decode())
    assert not list(shop.files.glob("*"))


@pytest.mark.parametrize("limit", ["topic", "client"])
def test_message_rejected_by_dead_letter_topic_goes_to_file(
    tmp_path: Path, replica_set: MongoReplicaSet, broker: KafkaBroker, limit: str
) -> None:
    limits = SMALL if limit == "topic" else NONE
    name = f"dlqfile{limit}"
    shop = Shop(
        name, tmp_path, replica_set, broker, "file", limits=limits, dead_letter_limits=limits
    )
    overrides = ["kafka.producer.max.request.size=10000"] if limit == "client" else []
    with shop.agent:
        shop.start(*overrides)
        shop.insert()
        shop.wait_until(lambda: len(shop.delivered()) == 2, "the other events")
        shop.wait_until(
            lambda: shop.metric("cdc_dead_letter_topic_failures_total") == 1, "the failure"
        )
        shop.wait_until(lambda: "event_rejected" in str(shop.agent.ask("/health")), "the condition")
        health = str(shop.agent.ask("/health"))
        shop.agent.stop()
    assert shop.delivered() == [1, 3]
    assert shop.letters() == []
    (line,) = (shop.files / "refused.ndjson").read_bytes().splitlines()
    kept = json.loads(line)
    assert kept["topic"] == shop.topic
    assert LARGE in str(kept["value"])
    assert names_the_ways_on(kept["reason"])
    assert names_the_ways_on(health)
    assert f"{shop.files}/refused.ndjson" in health


def test_kill_before_the_commit_repeats_only_the_dead_letter(
    tmp_path: Path, replica_set: MongoReplicaSet, broker: KafkaBroker
) -> None:
    shop = Shop("dlqkill", tmp_path, replica_set, broker, "kafka")
    with shop.agent:
        shop.start(NO_COMMIT)
        shop.insert()
        shop.wait_until(lambda: len(shop.letters()) == 1, "the dead letter")
        shop.agent.kill()
        assert shop.delivered() == [], "the transaction of the others is open"
        shop.start()
        shop.wait_until(lambda: len(shop.delivered()) == 2, "the other events")
        shop.agent.stop()
    assert shop.delivered() == [1, 3]
    first, second = shop.letters()
    assert (id_of(first), id_of(second)) == (2, 2)
    assert dict(first.headers)["cdc.id"] == dict(second.headers)["cdc.id"]
