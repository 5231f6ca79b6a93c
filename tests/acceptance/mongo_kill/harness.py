"""A replica set, a broker and an agent, with the operations on them."""

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any, Self

from confluent_kafka import Producer

from tests.acceptance.mongo_kill.checks import Life
from tests.acceptance.mongo_kill.workload import DATABASE, Workload
from tests.support.agents.agent_command import Outcome
from tests.support.mongodb.agent_process import MongoAgentProcess
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.mongodb.server.server_process import MongoServerProcess
from tests.support.servers.kafka import KafkaBroker, KafkaRecord
from tests.support.servers.processes import DEADLINE_S

COLLECTIONS = ("customers", "orders")
PREFIX = "kill"
PARTITIONS = 3
WINDOW_EVENTS = 200
_POSITION_TOPIC = f"{PREFIX}.position"


class ReplicaSetHarness:
    """As a context manager: starts the servers; the test starts the agent."""

    def __init__(
        self,
        directory: Path,
        random: Random,
        settings: Mapping[str, object] | None = None,
        replica_set: MongoReplicaSet | MongoServerProcess | None = None,
        broker: KafkaBroker | None = None,
    ) -> None:
        """`settings` are additional or replaced properties of the agent. Without a `replica_set`,
        members run in threads of this process. A given `broker` is running and remains; otherwise
        the harness starts its own."""
        self.random = random
        self._stack = ExitStack()
        self._directory = directory
        self._settings = dict(settings or {})
        self.replica_set = replica_set or MongoReplicaSet(members=3)
        self.kills = Counter[str]()
        self.lives: list[Life] = []
        self.copies = 1
        """Of all documents: the first one, and those that a signal may have begun."""
        self._is_own_broker = broker is None
        self.broker = broker or KafkaBroker(directory / "kafka")

    def __enter__(self) -> Self:
        with self._stack as stack:
            stack.enter_context(self.replica_set)
            if self._is_own_broker:
                stack.enter_context(self.broker)
            client = stack.enter_context(
                Client(
                    self.replica_set.connection_string,
                    serverSelectionTimeoutMS=20_000,
                    heartbeatFrequencyMS=500,
                )
            )
            self.workload = Workload(client, self.random, COLLECTIONS)
            self.workload.create()
            for name in COLLECTIONS:
                self.broker.create_topic(f"{PREFIX}.{DATABASE}.{name}", PARTITIONS)
            self.broker.create_topic(_POSITION_TOPIC, config={"cleanup.policy": "compact"})
            self.agent = MongoAgentProcess(
                self._directory / "agent",
                self.replica_set.connection_string,
                PREFIX,
                self._properties(),
            )
            stack.callback(lambda: self.agent.end())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._stack.__exit__(*exception)

    def launch_agent(self) -> None:
        """Start an agent process, whose records follow those of earlier processes."""
        self.lives.append(Life(self.broker.end_offsets(*self.topics)))
        self.agent.launch()

    def kill_agent(self) -> None:
        self.agent.kill()
        self.kills["agent"] += 1

    def kill_broker(self) -> None:
        self.broker.kill()
        self.kills["broker"] += 1
        self.lives[-1].broker_kills += 1

    def kill_server(self) -> None:
        """Kill a server that is a separate process."""
        assert isinstance(self.replica_set, MongoServerProcess)
        self.replica_set.kill()
        self.kills["server"] += 1

    @property
    def topics(self) -> list[str]:
        """Topics of all collections."""
        return [f"{PREFIX}.{DATABASE}.{name}" for name in COLLECTIONS]

    def _properties(self) -> dict[str, object]:
        return {
            "database.include.list": DATABASE,
            "capture.mode.full.update.type": "post_image",
            "kafka.producer.bootstrap.servers": self.broker.bootstrap,
            "inflight.max.events": WINDOW_EVENTS,
            "max.batch.size": 50,
            "incremental.snapshot.chunk.size": 20,
            "snapshot.max.threads": 2,
            **self._settings,
        }

    def wait_until_acknowledged(self, events: int) -> None:
        """Wait until the agent's process has delivered this number of events to the broker."""
        self.agent.wait_until_acknowledged(events)

    def wait_until_drained(self) -> None:
        """Wait until all current writes are stored as delivered, and snapshots are complete."""
        end = self.replica_set.write_noop()
        self.replica_set.write_noop()
        self.agent.wait_until(
            lambda: self._stored_time() >= (end.time, end.inc) and not self._is_snapshot_running(),
            f"the position to reach {end}",
        )

    def invent(self) -> None:
        """Publish a record of a document that was never written."""
        source = {"db": DATABASE, "collection": COLLECTIONS[0]}
        value = json.dumps({"after": '{"_id": "nobody\'s"}', "source": source, "op": "c"})
        producer = Producer({"bootstrap.servers": self.broker.bootstrap, "log_level": 0})
        topic = f"{PREFIX}.{DATABASE}.{COLLECTIONS[0]}"
        producer.produce(topic, value.encode(), b'{"id":"\\"nobody\'s\\""}')
        assert producer.flush(DEADLINE_S) == 0

    def compare(self) -> Outcome:
        """Result of `mongo-agent compare`, which compares topics and servers while the agent
        runs."""
        return self.agent.compare(self.replica_set.write_noop)

    def records(self, *, committed_only: bool = True) -> list[KafkaRecord]:
        """Records of all collections."""
        return self.broker.consume_all(*self.topics, committed_only=committed_only)

    def _stored_time(self) -> tuple[int, int]:
        offsets = self.agent.ask("/offsets") or {}
        time = offsets.get("stored", {}).get("cluster.time", "0:0")
        second, _, increment = time.partition(":")
        return int(second), int(increment)

    def _is_snapshot_running(self) -> bool:
        health = self.agent.ask("/health") or {}
        return bool(health.get("components", {}).get("snapshot", {}).get("is_running", True))
