"""Faults of node, broker and agent, and their timing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from tests.acceptance.kill.harness import ClusterHarness


@dataclass(frozen=True, slots=True)
class Fault:
    """`name` of `FAULTS`, after this number of arrived records since the last fault.

    The fault starts when the first record of a last `burst` of statements arrives: some records are
    in flight then, others are unacknowledged. `meanwhile` statements are written during the outage;
    `flush_interval_ms` is that of the next agent.
    """

    name: str
    after_records: int
    burst: int
    meanwhile: int
    flush_interval_ms: int


def _kill_agent(harness: ClusterHarness, fault: Fault) -> None:
    harness.agent.kill()
    harness.write(fault.meanwhile)
    harness.agent.start(fault.flush_interval_ms)


def _kill_agent_twice(harness: ClusterHarness, fault: Fault) -> None:
    """The second kill comes while the agent catches up."""
    harness.agent.kill()
    harness.write(fault.meanwhile + 1)
    harness.agent.start(0)
    harness.wait_for_arrival()
    harness.agent.kill()
    harness.agent.start(fault.flush_interval_ms)


def _kill_agent_in_series(harness: ClusterHarness, fault: Fault) -> None:
    """Kill each process at its first delivery, or during its start."""
    for number in range(_KILLS_IN_SERIES):
        harness.agent.kill()
        harness.agent.start(fault.flush_interval_ms)
        harness.write(fault.meanwhile // _KILLS_IN_SERIES + 1)
        if number % 3:
            harness.wait_for_arrival()


def _stop_agent(harness: ClusterHarness, fault: Fault) -> None:
    harness.agent.stop()
    harness.write(fault.meanwhile)
    harness.agent.start(fault.flush_interval_ms)


def _kill_broker(harness: ClusterHarness, fault: Fault) -> None:
    harness.kill_broker()
    harness.write(fault.meanwhile)
    harness.broker.start()


def _restart_broker(harness: ClusterHarness, fault: Fault) -> None:
    harness.broker.stop()
    harness.write(fault.meanwhile)
    harness.broker.start()


def _kill_broker_then_agent(harness: ClusterHarness, fault: Fault) -> None:
    """The agent dies with a full window while the broker is down."""
    harness.kill_broker()
    harness.write(fault.meanwhile)
    harness.agent.kill()
    harness.agent.start(fault.flush_interval_ms)
    harness.write(fault.meanwhile // 2)
    harness.broker.start()


def _kill_node(harness: ClusterHarness, fault: Fault) -> None:
    """The node forgets the last of its acknowledged writes."""
    harness.write(_UNSYNCED + fault.meanwhile)
    harness.kill_node()
    harness.node.start()


def _kill_node_and_agent(harness: ClusterHarness, fault: Fault) -> None:
    """The agent starts while its node is down."""
    harness.write(_UNSYNCED + fault.meanwhile)
    harness.kill_node()
    harness.agent.kill()
    harness.agent.start(fault.flush_interval_ms)
    harness.node.start()


def _restart_node(harness: ClusterHarness, fault: Fault) -> None:
    harness.node.restart()


FAULTS: Mapping[str, Callable[[ClusterHarness, Fault], None]] = {
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
# Statements just before a node is killed: some are after its last marker then.
_UNSYNCED = 100
_KILLS_IN_SERIES = 12
# Starting a node takes longest; kills of the agent are the subject of the test.
_WEIGHTS = (5, 3, 4, 2, 2, 1, 2, 2, 2, 1)
# 0: after each acknowledgement. The longest: almost never, so many events are repeated.
_FLUSH_INTERVALS_MS = (0, 0, 1000, 60_000)


def random_plan(random: Random, count: int) -> list[Fault]:
    """This number of faults of all kinds."""
    names = random.choices(list(FAULTS), _WEIGHTS, k=count)
    return [planned(random, name) for name in names]


def planned(random: Random, name: str, flush_interval_ms: int | None = None) -> Fault:
    """This fault at a random moment."""
    if flush_interval_ms is None:
        flush_interval_ms = random.choice(_FLUSH_INTERVALS_MS)
    return Fault(
        name,
        after_records=random.randrange(50, 1500),
        burst=random.randrange(50, 400),
        meanwhile=random.randrange(0, 800),
        flush_interval_ms=flush_interval_ms,
    )


def strike(harness: ClusterHarness, fault: Fault) -> None:
    """Strike when a burst arrives; afterwards all three run again."""
    harness.wait_for_arrival(fault.burst)
    FAULTS[fault.name](harness, fault)
    harness.agent.require_running()
    harness.faults[fault.name] += 1
