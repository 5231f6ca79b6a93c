"""An accepted signal is executed, whatever happens to the agent after the answer."""

import shutil
import threading
from pathlib import Path

from mongo_agent.cli.snapshot import SignalClient
from mongo_agent.signals.signal import SignalResult
from sidecar.errors import SinkRestartError
from tests.support.mongodb.running_agent import RunAgent, RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.servers.processes import wait_until
from tests.support.sinks.memory_sink import MemorySink

COPY_A = {"data-collections": ["shop.a"]}


class Asking:
    """Client that waits for the answer to a signal."""

    def __init__(self, agent: RunningAgent) -> None:
        self.answer: SignalResult | None = None
        self._client = SignalClient(agent.url)
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self) -> None:
        self.answer = self._client.send("execute-snapshot", COPY_A)

    def wait(self) -> SignalResult:
        wait_until(lambda: not self._thread.is_alive(), "the answer")
        assert self.answer is not None
        return self.answer


def has_taken(agent: RunningAgent) -> bool:
    """While snapshots are paused, a request remains pending."""
    return bool(SignalClient(agent.url).snapshots()[""]["requests"])


def test_accepted_signal_survives_a_kill(
    writer: Client, run_agent: RunAgent, three_members: MongoReplicaSet, tmp_path: Path
) -> None:
    """A killed agent leaves only the directory as it was at the time of the answer."""
    writer.shop.a.insert_one({"_id": 1})
    with run_agent().streaming() as agent:
        client = SignalClient(agent.url)
        client.send("pause-snapshot", {})
        assert client.send("execute-snapshot", COPY_A).is_accepted
        # A temporary file may disappear during the copy of the directory.
        temporary = shutil.ignore_patterns("*.tmp")
        shutil.copytree(tmp_path / "offsets", tmp_path / "left", ignore=temporary)
    assert agent.published == []
    with RunningAgent(tmp_path / "left", three_members.connection_string).streaming() as another:
        SignalClient(another.url).send("resume-snapshot", {})
        assert [(each.kind, each.id) for each in another.wait_for(1)] == [("read", 1)]


def test_signal_answer_waits_for_unacknowledged_events(writer: Client, run_agent: RunAgent) -> None:
    """The offset cannot pass an event that the sink lacks, so the signal is not safe yet; a sink
    restart does not lose it."""
    writer.shop.a.insert_one({"_id": 7})
    sink = MemorySink(automatic=False)
    with run_agent(sink).streaming() as agent:
        SignalClient(agent.url).send("pause-snapshot", {})
        writer.shop.b.insert_one({"_id": 1})
        agent.wait_for(1)
        asking = Asking(agent)
        agent.wait_until(lambda: has_taken(agent), "the signal")
        assert asking.answer is None
        sink.raise_next(SinkRestartError("the broker lost something"))
        agent.wait_for(2)
        sink.acknowledge()
        assert asking.wait().is_accepted
        SignalClient(agent.url).send("resume-snapshot", {})
        agent.wait_until(lambda: any(each.kind == "read" for each in agent.published), "the copy")
        sink.acknowledge()
        assert [each.id for each in agent.published if each.kind == "read"] == [7]
