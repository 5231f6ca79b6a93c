"""Node, broker and agent, and the continuous writer."""

import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, Self

from cassandra import InvalidRequest, OperationTimedOut, ReadTimeout, WriteTimeout
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin._listoffsets import OffsetSpec

import commitlog
from tests.acceptance.kill.agent import Agent
from tests.acceptance.kill.arrivals import Source, parse_source
from tests.acceptance.kill.chain import read_chains
from tests.oracle.merge.writes import Write
from tests.support.segments.skipping_reader import SkippingReader
from tests.support.servers.cassandra import VERSION, CassandraNode, cdc_segments
from tests.support.servers.cassandra_settings import NodeSettings, release
from tests.support.servers.errors import ServerFailedError
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import DEADLINE_S

_IN_FLIGHT = 32
_TOPIC_PARTITIONS = 3
_FORMAT = commitlog.EventFormat(topic_prefix="kill", cluster="lab", node_id="node")


class ClusterHarness:
    """As a context manager, it starts servers that do not run yet, and ends those.

    `chain_ends` contains the logical end of every segment that a killed node left. `counts` are of
    statements: `written`; `rejected` because they refer to a missing list element; `unanswered`,
    which may be written or not. They also count whole `records behind` the last marker of a killed
    node.
    """

    def __init__(
        self,
        directory: Path,
        random: Random,
        node: CassandraNode,
        broker: KafkaBroker,
        cdc_raw: Path | None = None,
    ) -> None:
        self.random = random
        self.node, self.broker = node, broker
        self._cdc_raw = cdc_raw or node.cdc_raw
        self._own = [server for server in (node, broker) if not server.is_running]
        self.agent = Agent(
            directory / "agent",
            node_yaml=node.yaml,
            bootstrap=broker.bootstrap,
            settings={"cdc.raw.directory": self._cdc_raw},
        )
        self.counts: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self._kills: Counter[str] = Counter()
        self.chain_ends: dict[int, int] = {}
        self._arrived = 0
        self._topics: list[TopicPartition] = []
        self._writes: Iterator[Write] = iter(())

    @property
    def release(self) -> tuple[int, int]:
        return release(self.node.version)

    def __enter__(self) -> Self:
        try:
            for server in self._own:
                server.start()
            self.agent.start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._end()

    def _end(self) -> None:
        self.agent.end()
        for server in self._own:
            if server.is_running:
                server.kill()

    def use(self, writes: Iterator[Write], topics: list[str]) -> None:
        """From now on, write and count these statements; creates the topics."""
        self._writes = writes
        for topic in topics:
            self.broker.create_topic(topic, _TOPIC_PARTITIONS)
        self._topics = [
            TopicPartition(topic, partition)
            for topic in topics
            for partition in range(_TOPIC_PARTITIONS)
        ]
        self._arrived = 0

    def write(self, count: int) -> None:
        """Execute this number of writes, several at a time; returns when all are answered."""
        session = self.node.session()
        under_way: deque[tuple[Write, Any]] = deque()
        for _ in range(count):
            write = next(self._writes)
            under_way.append((write, session.execute_async(write.text)))
            if len(under_way) == _IN_FLIGHT:
                self._take_answer(*under_way.popleft())
        while under_way:
            self._take_answer(*under_way.popleft())

    def _take_answer(self, write: Write, future: Any) -> None:
        try:
            future.result()
            self.counts["written"] += 1
        except InvalidRequest:
            if not write.may_be_rejected:
                raise
            self.counts["rejected"] += 1
        except (OperationTimedOut, ReadTimeout, WriteTimeout):
            # The machine is busy; the comparison with SELECT shows whether the write succeeded.
            self.counts["unanswered"] += 1

    def arrived(self) -> int:
        """Number of records in the topics; the last known number while the broker does not
        answer."""
        with suppress(KafkaException):
            latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
            answers = self.broker.admin().list_offsets(
                dict.fromkeys(self._topics, latest), request_timeout=60
            )
            self._arrived = sum(answer.result().offset for answer in answers.values())
        return self._arrived

    def wait_for_arrival(self, burst: int = 0) -> None:
        """Execute this number of writes, and return as soon as another record arrives."""
        self.write(burst)
        before = self.arrived()
        end_s = time.monotonic() + DEADLINE_S
        # Without a pause: now events are in flight.
        while self.arrived() == before:
            self.agent.require_running()
            if time.monotonic() > end_s:
                raise ServerFailedError(f"Nothing arrived.\n{self.agent.log_tail()}")
            self.write(1)

    @property
    def kills(self) -> Mapping[str, int]:
        """Number of SIGKILLs so far, by victim."""
        agents = sum(run.end == "killed" for run in self.agent.runs)
        return {"agent": agents, **self._kills}

    def kill_broker(self) -> None:
        """Send SIGKILL."""
        self.broker.kill()
        self._kills["broker"] += 1

    def kill_node(self) -> None:
        """Send SIGKILL; records what the node left in its log."""
        self.node.kill()
        self._kills["node"] += 1
        for chain in read_chains(self.node.commitlog):
            self.chain_ends[chain.segment_id] = chain.end
            self.counts["records behind"] += chain.records_behind

    def forget(self, keyspace: str) -> None:
        """Free space: drop a keyspace, its topics and the archive, all of which is delivered."""
        self.node.execute(f"DROP KEYSPACE {keyspace}")
        topics = {place.topic for place in self._topics}
        for answer in self.broker.admin().delete_topics(list(topics)).values():
            answer.result()
        for path in self.agent.archive.iterdir():
            path.unlink(missing_ok=True)

    def events_in_segments(self, schema: commitlog.Schema, keyspace: str) -> dict[Source, bytes]:
        """Every event of a keyspace in archived segments and in those still in `cdc_raw`."""
        found: dict[Source, bytes] = {}
        # A segment may be archived meanwhile: then the second listing contains it.
        for segment in cdc_segments(self._cdc_raw):
            if segment.index_offset is not None:
                limit = None if segment.is_completed else segment.index_offset
                with suppress(FileNotFoundError):
                    found |= _read(segment.path, schema, keyspace, limit)
        for path in self.agent.archive.glob("CommitLog-*.log"):
            found |= _read(path, schema, keyspace, None)
        return found


def own_servers(
    directory: Path, version: str = VERSION, compression: str | None = None
) -> tuple[CassandraNode, KafkaBroker]:
    """Servers that the test kills; the harness starts and ends them."""
    settings = NodeSettings(
        commitlog_sync_period_ms=500,
        heap_mib=768,
        commitlog_compression=compression,
        # Only in this mode does 6.0 write its own version of the log.
        storage_compatibility_mode="NONE" if release(version) >= (6, 0) else "CASSANDRA_4",
    )
    node = CassandraNode(directory / "node", version=version, settings=settings)
    return node, KafkaBroker(directory / "kafka")


def _read(
    path: Path, schema: commitlog.Schema, keyspace: str, limit: int | None
) -> Mapping[Source, bytes]:
    reader = SkippingReader(commitlog.SegmentReader(str(path)))
    found: dict[Source, bytes] = {}
    while True:
        batch, blocked = reader.read(schema, _FORMAT, limit=limit, complete=limit is None)
        if batch.gaps or blocked is not None:
            raise AssertionError(f"{path} has gaps {batch.gaps}, {blocked}")
        for topic, _, _, headers, _ in batch.messages(0, len(batch)):
            if topic.startswith(f"kill.{keyspace}."):
                values = dict(headers)
                found[parse_source(values["cdc.source"].decode())] = values["cdc.id"]
        if batch.stop == "end":
            return found
