"""A broker, an agent and clients for one deployment."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Self

from bson import Timestamp

from mongo_agent.offsets import StreamOffset
from mongo_agent.offsets.agent_offsets import parse_offsets, stored_cluster
from tests.acceptance.mongo_kill.checks import Arrival, arrivals, broken_histories
from tests.acceptance.mongo_kill.workload import Maker, Workload
from tests.acceptance.mongo_real.deployment import Deployment, connect
from tests.support.agents.agent_command import Outcome
from tests.support.mongodb.agent_process import MongoAgentProcess
from tests.support.mongodb.server.client import Client
from tests.support.servers.errors import ServerFailedError
from tests.support.servers.kafka import KafkaBroker, KafkaRecord

TOPIC_PREFIX = "proof"
SCHEMA_TOPIC = f"{TOPIC_PREFIX}.catalogue"
_LARGEST_RECORD_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Sizes:
    """Size parameters of a proof."""

    documents: int
    operations: int
    rounds: int
    transaction_mib: int
    deadline_s: int
    suite_deadline_s: int


SMALL = Sizes(
    documents=60, operations=30, rounds=1, transaction_mib=1, deadline_s=120, suite_deadline_s=300
)
LARGE = Sizes(
    documents=20_000,
    operations=2_000,
    rounds=5,
    transaction_mib=40,
    deadline_s=900,
    suite_deadline_s=1800,
)


class Proof:
    """As a context manager: starts a broker; a case launches the agent."""

    def __init__(
        self, directory: Path, deployment: Deployment, sizes: Sizes, random: Random, prefix: str
    ) -> None:
        self.deployment = deployment
        self.sizes = sizes
        self.random = random
        self.database = f"{prefix}_data"
        self.prefix = prefix
        self.directory = directory
        self._stack = ExitStack()
        self.broker = KafkaBroker(
            directory / "kafka",
            auto_create_topics=True,
            properties={"message.max.bytes": str(_LARGEST_RECORD_BYTES), "num.partitions": "2"},
        )

    def __enter__(self) -> Self:
        with self._stack as stack:
            stack.enter_context(self.broker)
            self.client: Client = stack.enter_context(connect(self.deployment.connection_string))
            self.agent = MongoAgentProcess(
                self.directory / "agent",
                self.deployment.connection_string,
                TOPIC_PREFIX,
                self._properties(),
            )
            stack.callback(lambda: self.agent.end())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._stack.__exit__(*exception)

    def _properties(self) -> dict[str, object]:
        catalogue = {"topic.schema.changes": SCHEMA_TOPIC}
        images = {
            "capture.mode": "change_streams_update_full_with_pre_image",
            "capture.mode.full.update.type": "post_image",
        }
        return {
            "mongodb.server.selection.timeout.ms": 5000,
            "database.include.list": self.database,
            "kafka.producer.bootstrap.servers": self.broker.bootstrap,
            "kafka.producer.max.request.size": _LARGEST_RECORD_BYTES,
            "inflight.max.bytes": 2 * _LARGEST_RECORD_BYTES,
            "incremental.snapshot.chunk.size": max(20, self.sizes.documents // 50),
            "snapshot.max.threads": 2,
            "oplog.headroom.warning.ms": 0,
            **(images if self.deployment.has_images else {}),
            **(catalogue if self.deployment.version >= (6, 0) else {}),
        }

    def workload(self, *collections: str, makers: Mapping[str, Maker] | None = None) -> Workload:
        """Random writes to new collections of the captured database."""
        found = Workload(
            self.client,
            self.random,
            collections,
            makers or {},
            database=self.database,
            has_images=self.deployment.has_images,
        )
        found.create()
        return found

    def ensure_agent(self) -> None:
        """Launch the agent if it is not running."""
        if not self.agent.is_running:
            self.agent.launch()

    def tick(self) -> Timestamp:
        """Advance the cluster time by an uncaptured write; returns its time."""
        with self.client.start_session() as session:
            ticks = self.client[f"{self.prefix}_clock"].ticks
            ticks.update_one({"_id": 0}, {"$inc": {"n": 1}}, upsert=True, session=session)
            time = session.operation_time
        assert time is not None
        return time

    def drain(self) -> None:
        """Wait until all current writes are delivered and the offset is stored."""
        end = self.tick()

        def is_drained() -> bool:
            self.tick()
            return any(self._offsets()) and all(
                (each.stream.time.second, each.stream.time.increment) >= (end.time, end.inc)
                and each.snapshot.is_idle
                for each in self._offsets()
            )

        self.agent.wait_until(is_drained, f"the position to reach {end}", self.sizes.deadline_s)

    def _offsets(self) -> list[StreamOffset]:
        """Stored offsets of the agent; empty while it does not answer."""
        stored = (self.agent.ask("/offsets") or {}).get("stored", {})
        return list(parse_offsets(stored, stored_cluster(stored)).streams.values())

    def wait_for_acknowledged(self, events: int) -> None:
        """Wait until this process of the agent has delivered this number of events to the
        broker."""
        self.agent.wait_until_acknowledged(events, self.sizes.deadline_s)

    def records(self, *collections: str) -> list[KafkaRecord]:
        """Records of these collections of the captured database."""
        existing = self.broker.topics()
        topics = [f"{TOPIC_PREFIX}.{self.database}.{name}" for name in collections]
        present = [topic for topic in topics if topic in existing]
        return self.broker.consume_all(*present) if present else []

    def arrived(self, *collections: str) -> list[Arrival]:
        return list(arrivals(self.records(*collections)))

    def require_histories(self, *workloads: Workload) -> int:
        """Verify that every document's history has arrived completely; returns the number of
        records."""
        count = 0
        for workload in workloads:
            found = self.arrived(*workload.collections)
            faults = list(broken_histories(found, workload.histories))
            require(not faults, f"{len(faults)} histories are broken", faults)
            count += len(found)
        return count

    def compare(self) -> Outcome:
        """Run `mongo-agent compare` while the agent runs."""
        return self.agent.compare(self.tick)


class CaseFailedError(Exception):
    """A check of a case failed."""


def require(holds: bool, what: str, details: Iterable[object] = ()) -> None:
    """Raises `CaseFailedError` with the first details."""
    if not holds:
        raise CaseFailedError("\n".join([what, *map(str, list(details)[:5])]))


FAILURES = (CaseFailedError, ServerFailedError, AssertionError)
CaseRun = Callable[[Proof], str]
"""Runs a case and returns its figures in one line."""
