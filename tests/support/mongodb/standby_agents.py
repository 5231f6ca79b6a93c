"""Two agents with one position, numbered changes, and what a consumer of committed records sees."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from pymongo import MongoClient

from tests.support.mongodb.agent_process import MongoAgentProcess
from tests.support.mongodb.server import MongoReplicaSet, MongoShardedCluster
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import freeze as freeze_process
from tests.support.servers.processes import wait_until

SESSION_MS = 3000
BROKER_PROPERTIES = {"group.min.session.timeout.ms": "1000"}
_PAUSE_S = 0.005
Server = MongoReplicaSet | MongoShardedCluster


class NumberedWrites:
    """Inserts documents 0, 1, 2 … from a thread of its own, until its end."""

    def __init__(self, server: Server, database: str) -> None:
        self._client = MongoClient[dict[str, Any]](
            server.connection_string, retryWrites=True, heartbeatFrequencyMS=500
        )
        self._documents = self._client[database].a
        self._is_over = threading.Event()
        self.written = 0
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._write, name="writes")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()
        self._client.close()

    def stop(self) -> None:
        """Raises what ended the thread."""
        self._is_over.set()
        self._thread.join()
        if self.error is not None:
            raise self.error

    def wait_for_more(self, changes: int = 20) -> None:
        """Until so many more are written."""
        wanted = self.written + changes
        wait_until(lambda: self.written >= wanted or self.error is not None, f"{wanted} writes")

    def _write(self) -> None:
        try:
            while not self._is_over.wait(_PAUSE_S):
                self._documents.insert_one({"_id": self.written})
                self.written += 1
        except Exception as error:
            self.error = error


class StandbyAgents:
    """`agents[0]` and `agents[1]`, each a process with a directory of its own."""

    def __init__(
        self,
        directory: Path,
        server: Server,
        broker: KafkaBroker,
        prefix: str,
        properties: Mapping[str, object] | None = None,
    ) -> None:
        """They capture the database `prefix`."""
        self.prefix = prefix
        self._directory = directory
        self._server = server
        self._broker = broker
        self._properties = dict(properties or {})
        self._stack = ExitStack()
        self.agents = [self.agent("first"), self.agent("second")]

    def agent(self, name: str, **changes: str) -> MongoAgentProcess:
        """Another agent with the same position, not yet running; `changes` have `_` for a dot."""
        values = {
            "database.include.list": self.prefix,
            "snapshot.mode": "no_data",
            "sink": "kafka",
            "kafka.producer.bootstrap.servers": self._broker.bootstrap,
            "kafka.producer.reconnect.backoff.max.ms": 1000,
            "topic.creation.enable": "true",
            "position.store": "kafka",
            "position.commit.interval.ms": 20,
            "standby.enabled": "true",
            "standby.session.timeout.ms": SESSION_MS,
            "shutdown.timeout.ms": 5000,
            **self._properties,
            **{key.replace("_", "."): value for key, value in changes.items()},
        }
        uri = self._server.connection_string
        agent = MongoAgentProcess(self._directory / name, uri, self.prefix, values)
        self._stack.callback(agent.end)
        return agent

    def __enter__(self) -> Self:
        with self._stack as stack:
            for agent in self.agents:
                agent.launch()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._stack.__exit__(*exception)

    def wait_for_pair(self) -> tuple[MongoAgentProcess, MongoAgentProcess]:
        """The leader, once it reads a stream, and the standby."""
        wait_until(lambda: sorted(map(role_of, self.agents)) == ["leader", "standby"], "both roles")
        leader = next(each for each in self.agents if role_of(each) == "leader")
        self.wait_until_leading(leader)
        return leader, self.other(leader)

    def other(self, agent: MongoAgentProcess) -> MongoAgentProcess:
        return self.agents[1 - self.agents.index(agent)]

    def wait_until_leading(self, agent: MongoAgentProcess) -> float:
        """Until it reads a stream; returns the seconds."""
        begun_s = time.monotonic()
        agent.wait_until(lambda: agent.metric("cdc_stream_open") == 1, "a stream", 180)
        return time.monotonic() - begun_s

    def wait_until_committed(self, changes: int) -> None:
        """Until a consumer of committed records sees the change with this number."""
        wait_until(lambda: len(self.committed()) >= changes, f"{changes} committed changes")

    def committed(self) -> list[int]:
        """The numbers of the documents in the order of the topic."""
        topic = f"{self.prefix}.{self.prefix}.a"
        if topic not in self._broker.topics():
            return []
        return [
            int(json.loads(json.loads(record.key or b"")["id"]))
            for record in self._broker.consume_all(topic)
        ]


class Takeover:
    """Two agents during writes, as a test sees them."""

    def __init__(self, agents: StandbyAgents, writes: NumberedWrites) -> None:
        self.agents = agents
        self.writes = writes

    def finish(self, leader: MongoAgentProcess) -> None:
        """Assert that every change was seen once and in order, the last ones by this leader."""
        self.writes.wait_for_more()
        self.writes.stop()
        written = self.writes.written
        self.agents.wait_until_committed(written)
        assert self.agents.committed() == list(range(written))
        assert leader.metric("cdc_leader") == 1
        assert leader.metric("cdc_events_total")


@contextmanager
def takeover(
    directory: Path, server: Server, broker: KafkaBroker, prefix: str
) -> Iterator[Takeover]:
    """A leader, a standby and a client that writes into the database `prefix`."""
    with StandbyAgents(directory, server, broker, prefix) as agents:
        agents.wait_for_pair()
        with NumberedWrites(server, prefix) as writes:
            writes.wait_for_more()
            yield Takeover(agents, writes)


def role_of(agent: MongoAgentProcess) -> str:
    """As `/health` reports it; empty while there is no answer."""
    document = status_of(agent) if agent.is_running else {}
    election = document.get("components", {}).get("election", {})
    return str(election.get("role", ""))


def status_of(agent: MongoAgentProcess) -> dict[str, Any]:
    """`/health`; empty while there is no answer."""
    return agent.ask("/health") or {}


def freeze(agent: MongoAgentProcess) -> Callable[[], None]:
    """SIGSTOP; the result continues it."""
    pid = agent.pid
    assert pid is not None
    freeze_process(pid)
    return lambda: os.kill(pid, signal.SIGCONT)
