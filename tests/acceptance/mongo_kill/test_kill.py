"""The kill test."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from tests.acceptance.mongo_kill.checks import arrivals, broken_histories, repeats
from tests.acceptance.mongo_kill.faults import FAULTS, Fault, strike
from tests.acceptance.mongo_kill.harness import ReplicaSetHarness

DOCUMENTS_BEFORE = 150


@pytest.mark.servers
@pytest.mark.parametrize(
    ("settings", "may_repeat"),
    [({}, True), ({"position.store": "kafka"}, False)],
    ids=["file", "exactly-once"],
)
def test_every_history_arrives_whatever_is_killed(
    tmp_path: Path, settings: Mapping[str, object], may_repeat: bool
) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    random = Random(seed)
    plan = [*FAULTS]
    random.shuffle(plan)
    with ReplicaSetHarness(tmp_path, random, settings) as harness:
        harness.workload.fill(DOCUMENTS_BEFORE)
        harness.agent.launch()
        for name in plan:
            operations = random.randrange(20, 60)
            strike(harness, Fault(name, operations, random.randrange(1, operations)))
        harness.workload.write(50)
        harness.wait_until_drained()
        arrived = list(arrivals(harness.records()))
        compared = harness.compare()
        if may_repeat:
            harness.invent()
            assert harness.compare().exit_code == 1
        harness.agent.stop()
        faults = list(broken_histories(arrived, harness.workload.histories))
        print(f"{len(arrived)} records, {repeats(arrived)} repeats\n{compared.output}")
        assert faults == []
        assert may_repeat or repeats(arrived) == 0
        assert compared.exit_code == 0, compared.errors
        assert {arrival.kind for arrival in arrived} >= {"read", "insert", "update", "delete"}
