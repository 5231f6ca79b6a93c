"""Rounds of altered replies between a server and an agent.

In a round the agent reads some altered replies while documents are written, then intact ones. It
must end with an error for its operator, or go on: publish every document that is written after the
last altered reply. An event whose content was altered is another event, which no client can notice.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random

from sidecar.errors import SidecarError
from tests.acceptance.mongo_replies.mutation import mutate
from tests.support.mongodb.proxy import MongoProxy, Sent, document_of, message_of
from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.servers.processes import wait_until

COMMANDS = (
    ("aggregate", "getMore"),
    ("aggregate",),
    ("getMore",),
    ("find",),
    ("listCollections", "listDatabases"),
    ("buildInfo", "ping"),
    ("hello", "isMaster"),
)
_FIRST_NUMBER = 1000
"""Of documents that are written while the agent runs."""
_UNEXPECTED = "failed unexpectedly"


@dataclass
class Round:
    """One round on a server. `said` lists the alterations."""

    servers: MongoReplicaSet
    writer: Client
    directory: Path
    random: Random
    said: list[str] = field(default_factory=list)
    first: int = _FIRST_NUMBER

    def play(self) -> str:
        """The outcome; raises AssertionError for one that an agent must not have."""
        has_snapshot = self.random.random() < 0.5
        commands = self.random.choice(COMMANDS)
        times = self.random.choice((1, 2, 8))
        database = f"r{self.random.getrandbits(32):x}"
        collection = self.writer[database].a
        collection.insert_many([{"_id": number} for number in range(20)])
        properties: dict[str, object] = {
            "snapshot.mode": "initial" if has_snapshot else "no_data",
            "database.include.list": database,
            "connect.max.attempts": 8,
            "incremental.snapshot.chunk.size": 4,
        }
        with MongoProxy(self.servers.members[0]) as proxy:

            def fault(message: bytes) -> Sent:
                document, done = mutate(document_of(message), self.random)
                self.said.append(f"{'/'.join(commands)}: {done}")
                return Sent(message_of(message, document))

            proxy.alter(fault, commands=commands, times=times)
            with running(self.directory, proxy.connection_string, properties) as agent:
                numbers = count(_FIRST_NUMBER)

                def has_streamed() -> bool:
                    """Writes a document, and looks for an earlier one of its kind."""
                    collection.insert_one({"_id": next(numbers)})
                    ids = [each.id for each in agent.of_documents()]
                    return any(isinstance(each, int) and each >= self.first for each in ids)

                wait_until(
                    lambda: proxy.hits >= times or agent.error is not None or has_streamed(),
                    "altered replies",
                )
                proxy.pass_all()
                self.first = next(numbers)
                wait_until(
                    lambda: agent.error is not None or has_streamed(), "an event, or the end"
                )
                return self._outcome(agent)

    def _outcome(self, agent: RunningAgent) -> str:
        if agent.error is None:
            return "goes on"
        assert isinstance(agent.error, SidecarError), f"no error for people: {agent.error!r}"
        text = str(agent.error)
        assert _UNEXPECTED not in text, text
        return f"ends: {text}"


@contextmanager
def running(
    directory: Path, connection_string: str, properties: dict[str, object]
) -> Iterator[RunningAgent]:
    """Run an agent; what ends it is in its `error`."""
    agent = RunningAgent(directory, connection_string, properties)
    try:
        with agent:
            yield agent
    except SidecarError as error:
        if error is not agent.error:
            raise
