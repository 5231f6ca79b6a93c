"""What happens to the parts while the workload goes on."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.acceptance.mongo_kill.stage import Stage


@dataclass(frozen=True, slots=True)
class Fault:
    """After `operations` writes, and `events` that the agent's process brought to the broker."""

    name: str
    operations: int
    events: int


def _kill_agent(stage: Stage) -> None:
    stage.agent.kill()
    stage.agent.launch()


def _kill_agent_twice(stage: Stage) -> None:
    stage.agent.kill()
    stage.workload.write(10)
    stage.agent.launch()
    stage.wait_until_acknowledged(1)
    stage.agent.kill()
    stage.agent.launch()


def _elect(stage: Stage) -> None:
    stage.replica_set.step_down()


def _lose_a_member(stage: Stage) -> None:
    primary = stage.replica_set.primary
    assert primary is not None
    stage.replica_set.stop_member(primary)
    stage.workload.write(20)
    stage.replica_set.start_member(primary)


def _drop_connections(stage: Stage) -> None:
    stage.replica_set.drop_connections()


def _restart_broker(stage: Stage) -> None:
    stage.broker.restart(clean=False)


def _restart_broker_and_kill_agent(stage: Stage) -> None:
    stage.broker.kill()
    stage.workload.write(30)
    stage.agent.kill()
    stage.broker.start()
    stage.agent.launch()


def _stop_agent(stage: Stage) -> None:
    stage.agent.stop()
    stage.workload.write(40)
    stage.agent.launch()


FAULTS: dict[str, Callable[[Stage], None]] = {
    "kill the agent": _kill_agent,
    "kill the agent twice": _kill_agent_twice,
    "elect another primary": _elect,
    "lose the primary": _lose_a_member,
    "drop all connections": _drop_connections,
    "kill the broker": _restart_broker,
    "kill the broker and the agent": _restart_broker_and_kill_agent,
    "stop the agent": _stop_agent,
}


def strike(stage: Stage, fault: Fault) -> None:
    """Writes, waits for the agent to be in the middle of it, and lets it happen."""
    stage.workload.write(fault.operations)
    stage.wait_until_acknowledged(fault.events)
    FAULTS[fault.name](stage)
