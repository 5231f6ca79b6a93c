"""The short kill test with shared servers, and a long one; `make soak` runs it for hours."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from tests.acceptance.kill.faults import planned
from tests.acceptance.kill.harness import ClusterHarness, own_servers
from tests.acceptance.kill.round import run_round
from tests.support.seeds import draw_seed
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.kafka import KafkaBroker

pytestmark = pytest.mark.servers

Plan = Sequence[tuple[str, int]]
"""Faults, each with the save interval of the next agent."""

AGENT_ALONE: Plan = (("kill the agent", 60_000), ("kill the agent twice", 0), ("stop the agent", 0))
EVERYTHING: Plan = (*AGENT_ALONE, ("kill the node", 0), ("kill the broker, then the agent", 1000))


def test_merged_events_equal_select_after_agent_kills(
    tmp_path: Path, shared_node: CassandraNode, broker: KafkaBroker, linked_cdc_raw: Path
) -> None:
    random = seeded()
    require(ClusterHarness(tmp_path, random, shared_node, broker, linked_cdc_raw), AGENT_ALONE)


@pytest.mark.slow
def test_merged_events_equal_select_after_any_kill(tmp_path: Path) -> None:
    """The test starts its own servers, because it kills them."""
    require(ClusterHarness(tmp_path, seeded(), *own_servers(tmp_path)), EVERYTHING)


def seeded() -> Random:
    seed = draw_seed()
    return Random(seed)


def require(harness: ClusterHarness, plan: Plan) -> None:
    random = harness.random
    with harness:
        faults = [planned(random, name, flush_interval_ms) for name, flush_interval_ms in plan]
        seed = random.getrandbits(32)
        report = run_round(harness, seed, f"ks_{seed:x}", faults)
        harness.agent.stop()
        print(report)
        report.require_none()
        assert report.tables == 11
        assert report.rows > 0
        assert report.events > 500
        assert harness.faults.total() == len(plan)
