"""A real node, its agent as a process, and the agent's Kafka records."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.kafka import KafkaBroker, KafkaRecord
from tests.support.servers.processes import DEADLINE_S

KEYSPACE = (
    "CREATE KEYSPACE s WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
)


class NodeStory:
    """The agent reads `cdc_raw`: the node's own, or a directory with links to its segments."""

    def __init__(
        self,
        node: CassandraNode,
        cdc_raw: Path,
        broker: KafkaBroker,
        prefix: str,
        directory: Path,
        properties: Mapping[str, object],
    ) -> None:
        self.node = node
        self.broker = broker
        self.prefix = prefix
        common = {
            "topic.prefix": prefix,
            "cassandra.config": node.yaml,
            "cdc.raw.directory": cdc_raw,
            "offset.backing.store.dir": directory / "offsets",
            "commit.log.relocation.dir": directory / "relocation",
            "sink": "kafka",
            "kafka.producer.bootstrap.servers": broker.bootstrap,
            "topic.creation.enable": "true",
            "topic.creation.default.partitions": "1",
            "topic.creation.default.replication.factor": "1",
            "snapshot.mode": "never",
        }
        for name in ("offsets", "relocation"):
            (directory / name).mkdir(parents=True)
        self.agent = AgentProcess("agent", directory, {**common, **properties})

    def records(self, topic: str) -> list[KafkaRecord]:
        """All records of a topic, which may not exist yet."""
        return self.broker.consume_all(topic) if topic in self.broker.topics() else []

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        self.agent.wait_until(condition, what, DEADLINE_S)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the agent, and stop it at the end."""
        self.agent.launch()
        try:
            yield
            self.agent.stop()
        finally:
            self.agent.end()
