"""The checks of the kill test find what they are for."""

from collections.abc import Iterator

from tests.acceptance.mongo_kill.checks import Arrival, broken_histories, repeats
from tests.acceptance.mongo_kill.workload import History, Place, State

PLACE = Place("a", "1")
STATES: list[State] = [{"v": 0}, {"v": 1}, None, {"v": 3}]


def arriving(*steps: tuple[str, State]) -> Iterator[Arrival]:
    for offset, (kind, state) in enumerate(steps):
        yield Arrival(PLACE, kind, state, f"{kind}{state}".encode(), offset, 0)


def faults(*steps: tuple[str, State]) -> list[str]:
    return list(broken_histories(arriving(*steps), {PLACE: History(1, list(STATES))}))


def test_a_whole_history() -> None:
    steps = [("insert", STATES[0]), ("update", STATES[1]), ("delete", None), ("insert", STATES[3])]
    assert faults(*steps) == []
    assert faults(*steps, *steps[2:]) == []
    assert repeats([*arriving(*steps, *steps[2:])]) == 2


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
    other = Arrival(Place("a", "2"), "insert", {}, b"", 0, 0)
    assert list(broken_histories([other], {})) == [f"{other.place} was never written"]
