"""The checks of the kill test find what they are for."""

from collections.abc import Iterator

from tests.acceptance.mongo_kill.checks import Arrival, broken_histories, repeats
from tests.acceptance.mongo_kill.lives import Life, repeats_of_lives, unbounded
from tests.acceptance.mongo_kill.workload import History, Place, State

PLACE = Place("a", "1")
STATES: list[State] = [{"v": 0}, {"v": 1}, None, {"v": 3}]


def arriving(*steps: tuple[str, State]) -> Iterator[Arrival]:
    for offset, (kind, state) in enumerate(steps):
        yield Arrival(PLACE, kind, state, f"{kind}{state}".encode(), "a", 0, offset)


def faults(*steps: tuple[str, State]) -> list[str]:
    return list(broken_histories(arriving(*steps), {PLACE: History(1, list(STATES))}))


def test_a_whole_history() -> None:
    steps = [("insert", STATES[0]), ("update", STATES[1]), ("delete", None), ("insert", STATES[3])]
    assert faults(*steps) == []
    assert faults(*steps, *steps[2:]) == []
    assert len(repeats(arriving(*steps, *steps[2:]))) == 2
    read = ("read", STATES[1])
    assert [len(repeats(arriving(read, read, read), copies)) for copies in (1, 2, 3)] == [2, 1, 0]


def test_a_copy_stands_for_all_that_was_before() -> None:
    assert faults(("read", STATES[1]), ("delete", None), ("insert", STATES[3])) == []
    assert faults(("delete", None), ("read", STATES[3])) != []
    assert faults(("delete", None), ("insert", STATES[3]), ("read", STATES[3])) == []


def test_checks_find_missing_stale_and_invented_documents() -> None:
    assert faults(("insert", STATES[0]), ("delete", None), ("insert", STATES[3])) != []
    assert faults(("update", STATES[1]), ("read", STATES[0]), ("delete", None)) != []
    assert faults(("insert", STATES[0]), ("update", STATES[1]), ("delete", None)) != []
    assert faults(("insert", {"v": 9})) != []
    assert faults() == [f"{PLACE} never arrived"]
    other = Arrival(Place("a", "2"), "insert", {}, b"", "a", 0, 0)
    assert list(broken_histories([other], {})) == [f"{other.place} was never written"]


def test_the_repeats_of_each_process() -> None:
    inserted, updated = ("insert", STATES[0]), ("update", STATES[1])
    arrived = [*arriving(inserted, updated, updated, inserted, updated)]
    lives = [Life({("a", 0): begin}, kills) for begin, kills in ((0, 0), (2, 0), (3, 1))]
    assert repeats_of_lives(arrived, lives) == [0, 1, 2]
    assert list(unbounded([0, 1, 2], lives, 1)) == []
    assert len(list(unbounded([0, 2, 3], lives, 1))) == 2
