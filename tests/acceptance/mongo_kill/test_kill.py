"""The kill test, and proof that its checks detect faults."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

import pytest

from tests.acceptance.mongo_kill.checks import (
    Arrival,
    Life,
    broken_histories,
    repeats,
    repeats_of_lives,
    unbounded,
)
from tests.acceptance.mongo_kill.faults import EVERYWHERE, OF_MEMBERS, random_plan, run_round
from tests.acceptance.mongo_kill.harness import ReplicaSetHarness
from tests.acceptance.mongo_kill.workload import History, Place, State
from tests.support.seeds import draw_seed
from tests.support.servers.kafka import KafkaBroker

PLACE = Place("a", "1")
STATES: list[State] = [{"v": 0}, {"v": 1}, None, {"v": 3}]


def arriving(*steps: tuple[str, State]) -> Iterator[Arrival]:
    for offset, (kind, state) in enumerate(steps):
        yield Arrival(PLACE, kind, state, f"{kind}{state}".encode(), "a", 0, offset)


def faults(*steps: tuple[str, State]) -> list[str]:
    return list(broken_histories(arriving(*steps), {PLACE: History(1, list(STATES))}))


def test_complete_history_has_no_fault() -> None:
    steps = [("insert", STATES[0]), ("update", STATES[1]), ("delete", None), ("insert", STATES[3])]
    assert faults(*steps) == []
    assert faults(*steps, *steps[2:]) == []
    assert len(repeats(arriving(*steps, *steps[2:]))) == 2
    read = ("read", STATES[1])
    assert [len(repeats(arriving(read, read, read), copies)) for copies in (1, 2, 3)] == [2, 1, 0]


def test_snapshot_read_replaces_earlier_history() -> None:
    assert faults(("read", STATES[1]), ("delete", None), ("insert", STATES[3])) == []
    assert faults(("delete", None), ("read", STATES[3])) != []
    assert faults(("delete", None), ("insert", STATES[3]), ("read", STATES[3])) == []


def test_kill_checks_find_missing_stale_and_invented_documents() -> None:
    assert faults(("insert", STATES[0]), ("delete", None), ("insert", STATES[3])) != []
    assert faults(("update", STATES[1]), ("read", STATES[0]), ("delete", None)) != []
    assert faults(("insert", STATES[0]), ("update", STATES[1]), ("delete", None)) != []
    assert faults(("insert", {"v": 9})) != []
    assert faults() == [f"{PLACE} never arrived"]
    other = Arrival(Place("a", "2"), "insert", {}, b"", "a", 0, 0)
    assert list(broken_histories([other], {})) == [f"{other.place} was never written"]


def test_repeats_are_counted_per_process() -> None:
    inserted, updated = ("insert", STATES[0]), ("update", STATES[1])
    arrived = [*arriving(inserted, updated, updated, inserted, updated)]
    lives = [Life({("a", 0): begin}, kills) for begin, kills in ((0, 0), (2, 0), (3, 1))]
    assert repeats_of_lives(arrived, lives) == [0, 1, 2]
    assert list(unbounded([0, 1, 2], lives, 1)) == []
    assert len(list(unbounded([0, 2, 3], lives, 1))) == 2


EVERYTHING = (*EVERYWHERE, *OF_MEMBERS)


def play(
    harness: ReplicaSetHarness, names: Sequence[str], random: Random, *, may_repeat: bool
) -> None:
    """A round with these faults in random order; `compare` sees a document that was never
    written."""
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
    seed = draw_seed()
    return Random(seed)


@pytest.mark.servers
def test_histories_arrive_after_agent_and_primary_kills(
    tmp_path: Path, broker: KafkaBroker, chance: Random
) -> None:
    """The test does not kill the shared broker."""
    with ReplicaSetHarness(tmp_path, chance, broker=broker) as harness:
        play(harness, ("kill the agent twice", *OF_MEMBERS), chance, may_repeat=True)


@pytest.mark.slow
@pytest.mark.servers
@pytest.mark.parametrize(
    ("settings", "may_repeat"),
    [({}, True), ({"position.store": "kafka"}, False)],
    ids=["file", "exactly-once"],
)
def test_histories_arrive_after_any_kill(
    tmp_path: Path, chance: Random, settings: Mapping[str, object], may_repeat: bool
) -> None:
    with ReplicaSetHarness(tmp_path, chance, settings) as harness:
        play(harness, EVERYTHING, chance, may_repeat=may_repeat)
