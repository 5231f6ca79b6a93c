"""Faults of the servers and the agent during the workload, and a round of them.

A round is a sequence of faults, and the comparison of all arrivals.
"""

import json
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from types import MappingProxyType

from tests.acceptance.mongo_kill.checks import (
    arrivals,
    broken_histories,
    repeats,
    repeats_of_lives,
    unbounded,
)
from tests.acceptance.mongo_kill.harness import COLLECTIONS, WINDOW_EVENTS, ReplicaSetHarness
from tests.acceptance.mongo_kill.workload import DATABASE
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.server_process import MongoServerProcess
from tests.support.servers.processes import wait_until


@dataclass(frozen=True, slots=True)
class Fault:
    """After `operations` writes, and `events` that the agent's process delivered to the broker."""

    name: str
    operations: int
    events: int


def _kill_agent(harness: ReplicaSetHarness) -> None:
    harness.kill_agent()
    harness.launch_agent()


def _kill_agent_twice(harness: ReplicaSetHarness) -> None:
    harness.kill_agent()
    harness.workload.write(10)
    harness.launch_agent()
    harness.wait_until_acknowledged(1)
    harness.kill_agent()
    harness.launch_agent()


def _kill_agent_in_series(harness: ReplicaSetHarness) -> None:
    for _ in range(6):
        harness.workload.write(10)
        if harness.random.random() < 0.7:
            harness.wait_until_acknowledged(1)
        harness.kill_agent()
        harness.launch_agent()


def _elect(harness: ReplicaSetHarness) -> None:
    harness.replica_set.step_down()


def _lose_a_member(harness: ReplicaSetHarness) -> None:
    members = _members(harness)
    primary = members.primary
    assert primary is not None
    members.stop_member(primary)
    harness.workload.write(20)
    members.start_member(primary)


def _drop_connections(harness: ReplicaSetHarness) -> None:
    _members(harness).drop_connections()


def _kill_broker(harness: ReplicaSetHarness) -> None:
    harness.kill_broker()
    harness.broker.start()


def _kill_broker_and_agent(harness: ReplicaSetHarness) -> None:
    harness.kill_broker()
    harness.workload.write(30)
    harness.kill_agent()
    harness.broker.start()
    harness.launch_agent()


def _stop_agent(harness: ReplicaSetHarness) -> None:
    harness.agent.stop()
    harness.workload.write(40)
    harness.launch_agent()


def _kill_server(harness: ReplicaSetHarness) -> None:
    with _writing(harness):
        harness.kill_server()
        _server(harness).start()


def _kill_server_and_agent(harness: ReplicaSetHarness) -> None:
    with _writing(harness):
        harness.kill_server()
        harness.kill_agent()
        _server(harness).start()
        harness.launch_agent()


def _kill_everything(harness: ReplicaSetHarness) -> None:
    with _writing(harness):
        harness.kill_agent()
        harness.kill_server()
        harness.kill_broker()
        harness.broker.start()
        harness.launch_agent()
        _server(harness).start()


def _copy_again(harness: ReplicaSetHarness) -> None:
    """The next fault strikes during a snapshot."""
    signal = {
        "id": f"copy {len(harness.lives)}",
        "type": "execute-snapshot",
        "data": {"data-collections": [f"{DATABASE}.{name}" for name in COLLECTIONS]},
    }
    request = urllib.request.Request(
        f"{harness.agent.url}/signals",
        json.dumps(signal).encode(),
        {"Content-Type": "application/json"},
    )

    def is_accepted() -> bool:
        harness.copies += 1
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return bool(answer.status == 202)
        except OSError:
            return False

    harness.agent.wait_until(is_accepted, "the signal to be stored", 300)


EVERYWHERE: Mapping[str, Callable[[ReplicaSetHarness], None]] = MappingProxyType(
    {
        "kill the agent": _kill_agent,
        "kill the agent twice": _kill_agent_twice,
        "elect another primary": _elect,
        "kill the broker": _kill_broker,
        "kill the broker and the agent": _kill_broker_and_agent,
        "stop the agent": _stop_agent,
    }
)
OF_MEMBERS = MappingProxyType(
    {"lose the primary": _lose_a_member, "drop all connections": _drop_connections}
)
OF_A_PROCESS = MappingProxyType(
    {
        "kill the agent in series": _kill_agent_in_series,
        "kill the server": _kill_server,
        "kill the server and the agent": _kill_server_and_agent,
        "kill the server, the broker and the agent": _kill_everything,
        "copy again": _copy_again,
    }
)
"""Faults of a server that is a separate process."""
FAULTS = MappingProxyType({**EVERYWHERE, **OF_MEMBERS, **OF_A_PROCESS})


def random_plan(random: Random, names: Iterable[str]) -> list[Fault]:
    """The faults in order, each after a random number of writes and events."""
    sizes = [(name, random.randrange(20, 60)) for name in names]
    return [Fault(name, size, random.randrange(1, size)) for name, size in sizes]


def strike(harness: ReplicaSetHarness, fault: Fault) -> None:
    """Write, wait until the agent is in the middle of the writes, and strike."""
    harness.workload.write(fault.operations)
    harness.wait_until_acknowledged(fault.events)
    FAULTS[fault.name](harness)


@contextmanager
def _writing(harness: ReplicaSetHarness) -> Iterator[None]:
    """Within the block some writes are in progress; after the block all are done."""
    workload = harness.workload
    begun = workload.operations + harness.random.randrange(20)
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(workload.write, 40)
        wait_until(lambda: workload.operations >= begun or writing.done(), "writes")
        yield
        writing.result()


def _members(harness: ReplicaSetHarness) -> MongoReplicaSet:
    assert isinstance(harness.replica_set, MongoReplicaSet)
    return harness.replica_set


def _server(harness: ReplicaSetHarness) -> MongoServerProcess:
    assert isinstance(harness.replica_set, MongoServerProcess)
    return harness.replica_set


DOCUMENTS_BEFORE = 150
_KINDS = frozenset({"read", "insert", "update", "delete"})
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one round; `problems` is empty if it passed."""

    operations: int
    records: int
    documents: int
    repeats: int
    largest_repeat: int
    """Largest repeat of one agent process."""
    kills: int
    compared: str
    """Output of `mongo-agent compare`."""
    problems: tuple[str, ...]


def run_round(
    harness: ReplicaSetHarness,
    plan: Iterable[Fault],
    *,
    may_repeat: bool,
    say: Say = lambda _: None,
) -> Report:
    """Fill, start the agent, strike, wait for the last event, and compare."""
    harness.workload.fill(DOCUMENTS_BEFORE)
    harness.launch_agent()
    for fault in plan:
        say(fault.name)
        strike(harness, fault)
    say("waiting for the last event")
    harness.workload.write(50)
    harness.wait_until_drained()
    say("comparing")
    arrived = list(arrivals(harness.records()))
    compared = harness.compare()
    repeated = repeats_of_lives(arrived, harness.lives, harness.copies)
    in_all = len(repeats(arrived, harness.copies))
    problems = [*broken_histories(arrived, harness.workload.histories)]
    problems += unbounded(repeated, harness.lives, WINDOW_EVENTS)
    if in_all and not may_repeat:
        problems.append(f"{in_all} committed records are repeats")
    if compared.exit_code != 0:
        problems.append(f"compare ended with {compared.exit_code}: {compared.errors}")
    if missing := _KINDS - {arrival.kind for arrival in arrived}:
        problems.append(f"nothing arrived of the kinds {sorted(missing)}")
    return Report(
        operations=harness.workload.operations,
        records=len(arrived),
        documents=len(harness.workload.histories),
        repeats=in_all,
        largest_repeat=max(repeated),
        kills=harness.kills.total(),
        compared=compared.output,
        problems=tuple(problems),
    )
