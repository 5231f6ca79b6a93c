"""The kill test."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from tests.acceptance.mongo_kill.faults import EVERYWHERE, OF_MEMBERS, random_plan
from tests.acceptance.mongo_kill.harness import ReplicaSetHarness
from tests.acceptance.mongo_kill.round import run_round


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
    names = [*EVERYWHERE, *OF_MEMBERS]
    random.shuffle(names)
    with ReplicaSetHarness(tmp_path, random, settings) as harness:
        report = run_round(harness, random_plan(random, names), may_repeat=may_repeat)
        print(f"{report.records} records, {report.repeats} repeats\n{report.compared}")
        assert report.problems == ()
        if may_repeat:
            harness.invent()
            assert harness.compare().exit_code == 1
        harness.agent.stop()
