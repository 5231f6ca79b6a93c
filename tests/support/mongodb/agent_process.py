"""The MongoDB agent as a process beside servers that end and come back."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.agents.agent_command import Outcome
from tests.support.mongodb.agent_command import mongo_agent_program
from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.processes import DEADLINE_S

# A lost server is noticed soon, and every acknowledged position is stored.
_QUICK = {
    "mongodb.server.selection.timeout.ms": 2000,
    "mongodb.heartbeat.frequency.ms": 500,
    "connect.backoff.initial.delay.ms": 50,
    "offset.flush.interval.ms": 0,
}
_TICK_S = 0.1


class MongoAgentProcess(AgentProcess):
    """It keeps its offsets beside its configuration, in `directory`."""

    def __init__(
        self,
        directory: Path,
        connection_string: str,
        topic_prefix: str,
        properties: Mapping[str, object],
    ) -> None:
        self.offsets = directory / "offsets"
        self.offsets.mkdir(parents=True)
        values = {
            "topic.prefix": topic_prefix,
            "mongodb.connection.string": connection_string,
            "offset.backing.store.dir": self.offsets,
            **_QUICK,
        }
        super().__init__("mongo-agent", directory, {**values, **properties})

    def metric(self, name: str) -> float | None:
        """The sum over its labels; None without a sample, and while the agent does not answer."""
        found = [
            float(value)
            for line in self.get("/metrics").decode().splitlines()
            for sample, _, value in [line.rpartition(" ")]
            if sample.partition("{")[0] == name
        ]
        return sum(found) if found else None

    def wait_until_acknowledged(self, events: int, deadline_s: float = DEADLINE_S) -> None:
        """Until this process has brought so many events to the sink."""
        name = "cdc_events_acknowledged_total"
        self.wait_until(lambda: (self.metric(name) or 0) >= events, f"{events} events", deadline_s)

    def compare(self, tick: Callable[[], object]) -> Outcome:
        """`mongo-agent compare` while the agent runs; `tick` moves the cluster time."""
        with ticking(tick):
            return mongo_agent_program("compare", "--config", self.configuration)


@contextmanager
def ticking(tick: Callable[[], object]) -> Iterator[None]:
    """Inside the block the cluster time moves."""
    done = threading.Event()

    def move_time() -> None:
        while not done.wait(_TICK_S):
            tick()

    clock = threading.Thread(target=move_time, name="clock")
    clock.start()
    try:
        yield
    finally:
        done.set()
        clock.join()
