"""A cluster of three replicas, a broker, and one agent per node."""

import time
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self

from cassandra import ConsistencyLevel
from cassandra.query import SimpleStatement

from tests.acceptance.kill.agent import Agent
from tests.integration.spark.golden.markers import (
    HINTED,
    Counts,
    insert_marker,
    is_in_all_logs,
    logged_markers,
    marker_table,
)
from tests.oracle.merge.writes import SHORT_TTL_S, Write
from tests.support.servers.cassandra import FILLER_KEYSPACE, CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.cassandra_tools import nodetool
from tests.support.servers.cluster import CassandraCluster
from tests.support.servers.kafka import KafkaBroker, KafkaRecord
from tests.support.servers.processes import wait_until
from tests.support.workloads.scenario import create_keyspace

PREFIX = "golden"
NODES = ("node1", "node2", "node3")
_FIRST_MARKER = 1000
"""Keys of `HINTED` from here on mark the writes so far."""
_IN_FLIGHT = 16
_TOPIC_PARTITIONS = 2
_SAVE_INTERVAL_MS = 600_000
_PATIENT = {
    "write_request_timeout": "20s",
    "read_request_timeout": "60s",
    "range_request_timeout": "60s",
    "counter_write_request_timeout": "20s",
    "cas_contention_timeout": "20s",
    "request_timeout": "60s",
    "hints_flush_period": "1000ms",
    "paxos_variant": "v2",
}
"""A long timeout for busy machines. A write that times out is stored through hints instead."""


class ClusterHarness:
    """Use as a context manager, which starts the broker and the first node and stops all servers.

    `create` starts the other nodes and the agents.
    """

    def __init__(
        self,
        directory: Path,
        random: Random,
        *,
        segment_mib: int = 1,
        storage_mode: str = "CASSANDRA_4",
    ) -> None:
        self.directory = directory
        self.counts = Counts()
        self.topics: list[str] = []
        self._random = random
        self._next_marker = _FIRST_MARKER
        settings = NodeSettings(
            commitlog_sync_period_ms=200,
            commitlog_segment_mib=segment_mib,
            heap_mib=512,
            storage_compatibility_mode=storage_mode,
            yaml=_PATIENT,
            jvm_options=("-Dcassandra.test.flush_local_schema_changes=false",),
        )
        self.cluster = CassandraCluster(directory / "cluster", settings=settings)
        self.broker = KafkaBroker(directory / "kafka", heap_mib=384)
        self.agents = [
            Agent(
                directory / f"agent-{name}",
                node_yaml=node.yaml,
                bootstrap=self.broker.bootstrap,
                settings={
                    "topic.prefix": PREFIX,
                    "node.id": name,
                    "counter.events": "shards",
                    "cdc.dir.poll.interval.ms": 1000,
                },
            )
            for name, node in zip(NODES, self.nodes, strict=True)
        ]

    @property
    def nodes(self) -> list[CassandraNode]:
        return self.cluster.nodes

    def __enter__(self) -> Self:
        try:
            self.broker.start()
            self.nodes[0].start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def _end(self) -> None:
        for agent in self.agents:
            agent.end()
        self.cluster.kill()
        if self.broker.is_running:
            self.broker.kill()

    def create(self, schema: Iterable[str]) -> None:
        """Create the tables and topics, and start the other nodes and the agents. The other nodes
        join after the tables exist, which is faster than a schema change on all nodes for each
        table."""
        own = marker_table(len(NODES))
        self.execute((create_keyspace(FILLER_KEYSPACE, len(NODES)), *own, *schema))
        first, *others = self.nodes
        first.create_filler()
        found = first.execute("SELECT keyspace_name, table_name, cdc FROM system_schema.tables")
        self.topics = [f"{PREFIX}.{row.keyspace_name}.{row.table_name}" for row in found if row.cdc]
        for topic in self.topics:
            self.broker.create_topic(topic, _TOPIC_PARTITIONS)
        for node in others:
            node.start()
        self._wait_for_agreement()
        for agent in self.agents:
            # A killed agent resumes at an old offset.
            agent.start(flush_interval_ms=_SAVE_INTERVAL_MS)

    def execute(self, statements: Iterable[str]) -> None:
        """Execute statements through the first node until all nodes agree on the schema."""
        for statement in statements:
            self.nodes[0].execute(statement)
        self._wait_for_agreement()

    def _wait_for_agreement(self) -> None:
        running = [node for node in self.nodes if node.is_running]

        def agrees() -> bool:
            query = "SELECT schema_version FROM system.local"
            return len({node.execute(query)[0].schema_version for node in running}) == 1

        wait_until(agrees, "the nodes to know the tables")

    def write(self, writes: Iterable[Write], away: CassandraNode | None = None) -> None:
        """Write through all running nodes but `away` in turn, several at a time, until all are
        answered."""
        coordinators = [node for node in self.nodes if node.is_running and node is not away]
        sessions = cycle([node.session() for node in coordinators])
        levels = [ConsistencyLevel.ONE, ConsistencyLevel.QUORUM]
        if len(coordinators) == len(self.nodes):
            levels.append(ConsistencyLevel.ALL)
        under_way: deque[tuple[Write, Any]] = deque()
        for write in writes:
            # Conditional writes run in the order of the workload.
            while under_way and (len(under_way) == _IN_FLIGHT or " IF " in write.text):
                self.counts.record(*under_way.popleft())
            level = self._random.choice(levels)
            statement = SimpleStatement(write.text, consistency_level=level)
            under_way.append((write, next(sessions).execute_async(statement)))
        while under_way:
            self.counts.record(*under_way.popleft())

    def write_final_hints(self, first: int = 0, away: CassandraNode | None = None) -> None:
        """Write a row through each running node but `away`, with keys from `first` on. It is their
        last hint for a stopped node."""
        for number, node in enumerate(self.nodes, first):
            if node.is_running and node is not away:
                node.execute(insert_marker(number))

    def upgrade(self, version: str, writes: Sequence[Write]) -> None:
        """Upgrade the nodes in place one by one while the others accept the writes, and then the
        cluster's metadata, which gives each node a new host id. Hints for a former host id are
        never delivered."""
        former = {self._host_id(node) for node in self.nodes}
        size = -(-len(writes) // len(self.nodes))
        self._wait_for_hints()
        for number, node in enumerate(self.nodes):
            node.stop()
            node.version = version
            with ThreadPoolExecutor(1) as executor:
                started = executor.submit(node.start)
                self.write(writes[number * size : (number + 1) * size], node)
                self.write_final_hints((number + 1) * len(self.nodes), node)
                started.result()
            self._wait_for_hints()
        nodetool(self.nodes[0], "cms", "initialize")
        wait_until(
            lambda: not former & {self._host_id(node) for node in self.nodes}, "the new host ids"
        )
        self._wait_for_agreement()

    @staticmethod
    def _host_id(node: CassandraNode) -> str:
        return str(node.execute("SELECT host_id FROM system.local")[0].host_id)

    def kill_agent(self, number: int, writes: Iterable[Write]) -> None:
        """Kill the agent after it has sent some of these events. Their offset is not committed, so
        the next agent sends them again."""
        agent = self.agents[number]
        self._wait_for_more(agent, 0)
        sent = agent.acknowledged_events()
        self.write(writes)
        self._wait_for_more(agent, sent)
        agent.kill()

    @staticmethod
    def _wait_for_more(agent: Agent, sent: int) -> None:
        wait_until(lambda: agent.acknowledged_events() > sent, f"events\n{agent.log_tail()}")

    def catch_up(self) -> None:
        """Wait until short TTLs have expired, and each running agent beside a running node has sent
        all events of its node until now."""
        written_s = time.time()
        wait_until(lambda: time.time() > written_s + SHORT_TTL_S + 1, "short TTLs to end")
        running = [node for node in self.nodes if node.is_running]
        level = ConsistencyLevel.ALL if len(running) == len(self.nodes) else ConsistencyLevel.TWO
        markers = set()
        for node in running:
            text = insert_marker(self._next_marker)
            node.session().execute(SimpleStatement(text, consistency_level=level))
            markers.add(self._next_marker)
            self._next_marker += 1
        agents = {
            name: agent
            for name, node, agent in zip(NODES, self.nodes, self.agents, strict=True)
            if node.is_running and agent.is_running
        }
        wanted = {(name, marker) for name in agents for marker in markers}

        def have_sent() -> bool:
            records = self.broker.consume_all(f"{PREFIX}.{HINTED}")
            return wanted <= logged_markers(records) and all(
                agent.has_no_unacknowledged_events() for agent in agents.values()
            )

        wait_until(have_sent, "the agents to catch up")

    def records(self) -> list[KafkaRecord]:
        """All records in the topics."""
        return self.broker.consume_all(*self.topics)

    def settle(self) -> None:
        """Wait until hints are delivered, short TTLs have expired, segments are complete and agents
        have sent them. Then stop the agents."""
        written_s = time.time()
        self._wait_for_hints()
        wait_until(lambda: time.time() > written_s + SHORT_TTL_S + 1, "short TTLs to end")
        for node in self.nodes:
            node.close_segment()
        for agent in self.agents:
            agent.wait_until_drained()
        for agent in self.agents:
            agent.stop()

    def _wait_for_hints(self) -> None:
        wait_until(self._has_no_hints, "hints to be handed over")

    def _has_no_hints(self) -> bool:
        if any(list((node.directory / "hints").glob("*.hints")) for node in self.nodes):
            return False
        records = self.broker.consume_all(f"{PREFIX}.{HINTED}")
        return is_in_all_logs(records, len(NODES))
