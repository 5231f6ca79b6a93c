"""The kill test."""

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import pytest

from tests.acceptance.mongo_kill.faults import EVERYWHERE, OF_MEMBERS, random_plan
from tests.acceptance.mongo_kill.harness import ReplicaSetHarness
from tests.acceptance.mongo_kill.round import run_round
from tests.support.servers.kafka import KafkaBroker

EVERYTHING = (*EVERYWHERE, *OF_MEMBERS)


def play(
    harness: ReplicaSetHarness, names: Sequence[str], random: Random, *, may_repeat: bool
) -> None:
    """A round with these faults in any order; `compare` sees a document that nobody wrote."""
    plan = random_plan(random, random.sample(names, len(names)))
    report = run_round(harness, plan, may_repeat=may_repeat)
    print(f"{report.records} records, {report.repeats} repeats\n{report.compared}")
    assert report.problems == ()
    if may_repeat:
        harness.invent()
        assert harness.compare().exit_code == 1
    harness.agent.stop()


@pytest.fixture
def chance() -> Random:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    return Random(seed)


@pytest.mark.servers
def test_every_history_arrives_when_the_agent_and_the_primary_end(
    tmp_path: Path, broker: KafkaBroker, chance: Random
) -> None:
    """Beside the broker of all tests, which is not killed here."""
    with ReplicaSetHarness(tmp_path, chance, broker=broker) as harness:
        play(harness, ("kill the agent twice", *OF_MEMBERS), chance, may_repeat=True)


@pytest.mark.slow
@pytest.mark.servers
@pytest.mark.parametrize(
    ("settings", "may_repeat"),
    [({}, True), ({"position.store": "kafka"}, False)],
    ids=["file", "exactly-once"],
)
def test_every_history_arrives_whatever_is_killed(
    tmp_path: Path, chance: Random, settings: Mapping[str, object], may_repeat: bool
) -> None:
    with ReplicaSetHarness(tmp_path, chance, settings) as harness:
        play(harness, EVERYTHING, chance, may_repeat=may_repeat)
