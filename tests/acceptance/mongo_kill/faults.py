"""What happens to the parts while the workload goes on."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.acceptance.mongo_kill.harness import ReplicaSetHarness


@dataclass(frozen=True, slots=True)
class Fault:
    """After `operations` writes, and `events` that the agent's process brought to the broker."""

    name: str
    operations: int
    events: int


def _kill_agent(harness: ReplicaSetHarness) -> None:
    harness.agent.kill()
    harness.agent.launch()


def _kill_agent_twice(harness: ReplicaSetHarness) -> None:
    harness.agent.kill()
    harness.workload.write(10)
    harness.agent.launch()
    harness.wait_until_acknowledged(1)
    harness.agent.kill()
    harness.agent.launch()


def _elect(harness: ReplicaSetHarness) -> None:
    harness.replica_set.step_down()


def _lose_a_member(harness: ReplicaSetHarness) -> None:
    primary = harness.replica_set.primary
    assert primary is not None
    harness.replica_set.stop_member(primary)
    harness.workload.write(20)
    harness.replica_set.start_member(primary)


def _drop_connections(harness: ReplicaSetHarness) -> None:
    harness.replica_set.drop_connections()


def _restart_broker(harness: ReplicaSetHarness) -> None:
    harness.broker.restart(clean=False)


def _restart_broker_and_kill_agent(harness: ReplicaSetHarness) -> None:
    harness.broker.kill()
    harness.workload.write(30)
    harness.agent.kill()
    harness.broker.start()
    harness.agent.launch()


def _stop_agent(harness: ReplicaSetHarness) -> None:
    harness.agent.stop()
    harness.workload.write(40)
    harness.agent.launch()


FAULTS: dict[str, Callable[[ReplicaSetHarness], None]] = {
    "kill the agent": _kill_agent,
    "kill the agent twice": _kill_agent_twice,
    "elect another primary": _elect,
    "lose the primary": _lose_a_member,
    "drop all connections": _drop_connections,
    "kill the broker": _restart_broker,
    "kill the broker and the agent": _restart_broker_and_kill_agent,
    "stop the agent": _stop_agent,
}


def strike(harness: ReplicaSetHarness, fault: Fault) -> None:
    """Writes, waits for the agent to be in the middle of it, and lets it happen."""
    harness.workload.write(fault.operations)
    harness.wait_until_acknowledged(fault.events)
    FAULTS[fault.name](harness)
