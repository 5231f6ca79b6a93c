"""The kill test."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from tests.acceptance.mongo_kill.checks import arrivals, broken_histories, repeats
from tests.acceptance.mongo_kill.faults import FAULTS, Fault, strike
from tests.acceptance.mongo_kill.stage import Stage

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
    with Stage(tmp_path, random, settings) as stage:
        stage.workload.fill(DOCUMENTS_BEFORE)
        stage.agent.launch()
        for name in plan:
            operations = random.randrange(20, 60)
            strike(stage, Fault(name, operations, random.randrange(1, operations)))
        stage.workload.write(50)
        stage.wait_until_drained()
        arrived = list(arrivals(stage.records()))
        compared = stage.compare()
        if may_repeat:
            stage.invent()
            assert stage.compare().exit_code == 1
        stage.agent.stop()
        faults = list(broken_histories(arrived, stage.workload.histories))
        print(f"{len(arrived)} records, {repeats(arrived)} repeats\n{compared.output}")
        assert faults == []
        assert may_repeat or repeats(arrived) == 0
        assert compared.exit_code == 0, compared.errors
        assert {arrival.kind for arrival in arrived} >= {"read", "insert", "update", "delete"}
