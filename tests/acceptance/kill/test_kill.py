"""The short kill test; `make soak` runs the long one."""

import secrets
from pathlib import Path
from random import Random

import pytest

from tests.acceptance.kill.faults import planned
from tests.acceptance.kill.harness import ClusterHarness
from tests.acceptance.kill.round import run_round

# Each with the interval between saves of the agent after it.
PLAN = (
    ("kill the agent", 60_000),
    ("kill the agent twice", 0),
    ("kill the node", 0),
    ("kill the broker, then the agent", 1000),
    ("stop the agent", 0),
)


@pytest.mark.servers
def test_merged_events_equal_select_whatever_is_killed(tmp_path: Path) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    random = Random(seed)
    with ClusterHarness(tmp_path, random) as harness:
        plan = [planned(random, name, flush_interval_ms) for name, flush_interval_ms in PLAN]
        report = run_round(harness, seed, "ks", plan, print)
        harness.agent.stop()
        print(report)
        report.require_none()
        assert report.tables == 11
        assert report.rows > 0
        assert report.events > 1000
        assert harness.faults.total() == len(PLAN)
