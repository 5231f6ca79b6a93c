"""Fifty kills of the leader or the standby, and other faults in random order, with the default
session timeout.

`pytest -s tests/integration/mongo_agent/slow_standby.py` prints the seed and the figures.
"""

import random
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.mongodb.agent_process import MongoAgentProcess
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.standby_agents import NumberedWrites, StandbyAgents, freeze, role_of
from tests.support.seeds import draw_seed
from tests.support.servers.kafka import KafkaBroker

pytestmark = pytest.mark.servers

KILLS = 50
SESSION_MS = 6000
FAULTS = ("kill", "kill", "kill", "stop", "freeze")


class Faults:
    """Break one of two agents and restore it; record the duration of each takeover."""

    def __init__(self, agents: StandbyAgents) -> None:
        self._agents = agents
        self.takeovers_s: dict[str, list[float]] = defaultdict(list)
        self.done: Counter[str] = Counter()

    @property
    def kills(self) -> int:
        return sum(count for name, count in self.done.items() if name.startswith("kill"))

    def make(self, fault: str, *, of_leader: bool) -> None:
        leader, standby = self._agents.wait_for_pair()
        victim = leader if of_leader else standby
        self.done[f"{fault} of the {'leader' if of_leader else 'standby'}"] += 1
        begun_s = time.monotonic()
        restore: Callable[[], None] = victim.launch
        match fault:
            case "kill":
                victim.kill()
            case "stop":
                victim.stop()
            case "freeze":
                restore = freeze(victim)
        if of_leader:
            self._agents.wait_until_leading(standby)
            self.takeovers_s[fault].append(time.monotonic() - begun_s)
        restore()
        self._wait_for_role(victim)

    def _wait_for_role(self, victim: MongoAgentProcess) -> None:
        victim.wait_until(lambda: role_of(victim) in ("leader", "standby"), "a role", 180)


def test_fifty_leader_or_standby_kills_repeat_no_change(tmp_path: Path) -> None:
    seed = draw_seed()
    chance = random.Random(seed)
    with (
        MongoReplicaSet(members=3) as replica_set,
        KafkaBroker(tmp_path / "kafka", heap_mib=256) as broker,
        StandbyAgents(
            tmp_path, replica_set, broker, "shop", {"standby.session.timeout.ms": SESSION_MS}
        ) as agents,
    ):
        agents.wait_for_pair()
        faults = Faults(agents)
        with NumberedWrites(replica_set, "shop") as writes:
            while faults.kills < KILLS:
                faults.make(chance.choice(FAULTS), of_leader=chance.random() < 0.7)
                writes.wait_for_more(chance.randrange(1, 100))
            agents.wait_for_pair()
            writes.stop()
            written = writes.written
        agents.wait_until_committed(written)
        seen = agents.committed()
        gaps = written - len(set(seen))
        repeats = len(seen) - len(set(seen))
        print(f"{sum(faults.done.values())} faults: {dict(sorted(faults.done.items()))}")
        print(f"{written} changes, {repeats} repeats, {gaps} gaps")
        for fault, seconds in sorted(faults.takeovers_s.items()):
            print(
                f"takeover after {fault}: {len(seconds)}, median "
                f"{statistics.median(seconds):.1f} s, maximum {max(seconds):.1f} s"
            )
        assert seen == list(range(written))
