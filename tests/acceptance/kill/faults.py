"""What happens to the three, and when."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from tests.acceptance.kill.stage import Stage


@dataclass(frozen=True, slots=True)
class Fault:
    """`name` of `FAULTS`, once so many records have arrived since the last one.

    It strikes when the first record of a last `burst` of statements arrives: then some are on
    their way and some are not acknowledged. `meanwhile` statements are written while something is
    down; `flush_interval_ms` is the next agent's, when there is a next one.
    """

    name: str
    after_records: int
    burst: int
    meanwhile: int
    flush_interval_ms: int


def _kill_agent(stage: Stage, fault: Fault) -> None:
    stage.agent.kill()
    stage.write(fault.meanwhile)
    stage.agent.start(fault.flush_interval_ms)


def _kill_agent_twice(stage: Stage, fault: Fault) -> None:
    """The second time while it catches up."""
    stage.agent.kill()
    stage.write(fault.meanwhile + 1)
    stage.agent.start(0)
    stage.wait_for_arrival()
    stage.agent.kill()
    stage.agent.start(fault.flush_interval_ms)


def _kill_agent_in_series(stage: Stage, fault: Fault) -> None:
    """Each process at its first delivery, or while it still starts."""
    for number in range(_KILLS_IN_SERIES):
        stage.agent.kill()
        stage.agent.start(fault.flush_interval_ms)
        stage.write(fault.meanwhile // _KILLS_IN_SERIES + 1)
        if number % 3:
            stage.wait_for_arrival()


def _stop_agent(stage: Stage, fault: Fault) -> None:
    stage.agent.stop()
    stage.write(fault.meanwhile)
    stage.agent.start(fault.flush_interval_ms)


def _kill_broker(stage: Stage, fault: Fault) -> None:
    stage.kill_broker()
    stage.write(fault.meanwhile)
    stage.broker.start()


def _restart_broker(stage: Stage, fault: Fault) -> None:
    stage.broker.stop()
    stage.write(fault.meanwhile)
    stage.broker.start()


def _kill_broker_then_agent(stage: Stage, fault: Fault) -> None:
    """The agent dies with a full window that nobody takes."""
    stage.kill_broker()
    stage.write(fault.meanwhile)
    stage.agent.kill()
    stage.agent.start(fault.flush_interval_ms)
    stage.write(fault.meanwhile // 2)
    stage.broker.start()


def _kill_node(stage: Stage, fault: Fault) -> None:
    """It forgets the last of what it acknowledged."""
    stage.write(_UNSYNCED + fault.meanwhile)
    stage.kill_node()
    stage.node.start()


def _kill_node_and_agent(stage: Stage, fault: Fault) -> None:
    """The agent starts beside a node that is not there."""
    stage.write(_UNSYNCED + fault.meanwhile)
    stage.kill_node()
    stage.agent.kill()
    stage.agent.start(fault.flush_interval_ms)
    stage.node.start()


def _restart_node(stage: Stage, fault: Fault) -> None:
    stage.node.restart()


FAULTS: Mapping[str, Callable[[Stage, Fault], None]] = {
    "kill the agent": _kill_agent,
    "kill the agent twice": _kill_agent_twice,
    "kill the agent in series": _kill_agent_in_series,
    "stop the agent": _stop_agent,
    "kill the broker": _kill_broker,
    "restart the broker": _restart_broker,
    "kill the broker, then the agent": _kill_broker_then_agent,
    "kill the node": _kill_node,
    "kill the node and the agent": _kill_node_and_agent,
    "restart the node": _restart_node,
}
# Statements right before a node is killed: some are behind its last marker then.
_UNSYNCED = 100
_KILLS_IN_SERIES = 12
# Starting a node takes longer than everything else; killing the agent is what this is about.
_WEIGHTS = (5, 3, 4, 2, 2, 1, 2, 2, 2, 1)
# 0: after each acknowledgement. The longest: hardly ever, so much is repeated.
_FLUSH_INTERVALS_MS = (0, 0, 1000, 60_000)


def random_plan(random: Random, count: int) -> list[Fault]:
    """So many faults of all kinds."""
    names = random.choices(list(FAULTS), _WEIGHTS, k=count)
    return [planned(random, name) for name in names]


def planned(random: Random, name: str, flush_interval_ms: int | None = None) -> Fault:
    """This one at a random moment."""
    if flush_interval_ms is None:
        flush_interval_ms = random.choice(_FLUSH_INTERVALS_MS)
    return Fault(
        name,
        after_records=random.randrange(50, 1500),
        burst=random.randrange(50, 400),
        meanwhile=random.randrange(0, 800),
        flush_interval_ms=flush_interval_ms,
    )


def strike(stage: Stage, fault: Fault) -> None:
    """Does it when a burst arrives; afterwards all three run again."""
    stage.wait_for_arrival(fault.burst)
    FAULTS[fault.name](stage, fault)
    stage.agent.require_running()
    stage.faults[fault.name] += 1
