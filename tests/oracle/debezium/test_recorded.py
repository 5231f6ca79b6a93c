"""Our events of the recorded segments against Debezium's events of the same segments."""

from collections import Counter
from pathlib import Path

import pytest

from tests.oracle.debezium.cases import CASES, CHAPTERS
from tests.oracle.debezium.comparison import difference
from tests.oracle.debezium.differences import FLAWS, flaw_of
from tests.oracle.debezium.document import PATH, document
from tests.oracle.debezium.next_release import MODES, Results
from tests.oracle.debezium.recording import CaseRecord, Recording, Sent


@pytest.fixture(scope="module")
def recording() -> Recording:
    return Recording.load()


@pytest.fixture(scope="module")
def ours(
    recording: Recording, tmp_path_factory: pytest.TempPathFactory
) -> tuple[tuple[Sent, ...], ...]:
    return recording.ours(tmp_path_factory.mktemp("segments"))


Pairs = list[tuple[CaseRecord, tuple[Sent, ...]]]


@pytest.fixture(scope="module")
def pairs(recording: Recording, ours: tuple[tuple[Sent, ...], ...]) -> Pairs:
    return list(zip(recording.cases, ours, strict=True))


def test_recording_contains_the_current_cases(recording: Recording) -> None:
    assert [(case.name, case.statements) for case in recording.cases] == [
        (case.name, case.statements) for case in CASES
    ]
    assert max(Counter(case.name for case in CASES).values()) == 1


def test_events_equal_correct_debezium_events(pairs: Pairs) -> None:
    right = [(case, found) for case, found in pairs if flaw_of(case.name) is None]
    different = {case.name: left for case, found in right if (left := difference(case.sent, found))}
    assert different == {}
    assert len(right) > 500
    assert sum(len(case.sent) for case, _ in right) > 1000


def test_events_differ_from_wrong_debezium_events(pairs: Pairs) -> None:
    """A fixed flaw must leave the list."""
    wrong = [(case, found) for case, found in pairs if flaw_of(case.name)]
    assert [case.name for case, found in wrong if not difference(case.sent, found)] == []


def test_events_differ_only_by_the_listed_flaw(pairs: Pairs) -> None:
    """If the flaw is one of order, everything else is equal."""
    mended = 0
    for case, found in pairs:
        flaw = flaw_of(case.name)
        if flaw is not None and flaw.mend is not None:
            assert not difference(case.sent, found, flaw.mend), case.name
            mended += 1
    assert mended > 20


def test_listed_flaws_have_cases() -> None:
    for flaw in FLAWS:
        for pattern in flaw.cases:
            assert any(flaw_of(case.name) is flaw for case in CASES), pattern
    for chapter in CHAPTERS:
        for case in chapter.cases:
            assert case.loses == "nothing" or flaw_of(case.name)
            assert case.name.startswith(case.group)


def test_comparison_detects_any_changed_part(pairs: Pairs) -> None:
    """Proves that the comparison detects any change of a value, key, position or time."""
    case, found = next(pair for pair in pairs if pair[0].name == "insert")
    (event,) = found
    source, after = event.value["source"], event.value["after"]
    changed_cell = {**after["name"], "value": "other"}
    for other in (
        Sent(event.topic + "x", event.key, event.value),
        Sent(event.topic, {**event.key, "c": True}, event.value),
        Sent(event.topic, event.key, {**event.value, "op": "u"}),
        Sent(event.topic, event.key, {**event.value, "after": {**after, "name": changed_cell}}),
        Sent(event.topic, event.key, {**event.value, "source": {**source, "ts_us": 0}}),
        Sent(event.topic, event.key, {**event.value, "more": None}),
    ):
        assert difference(case.sent, (other,))
    assert not difference(case.sent, found)


def test_page_equals_the_recorded_results(pairs: Pairs) -> None:
    written = Path(PATH).read_text(encoding="utf-8")
    assert written == document(pairs, Results.load()), (
        "run: python -m tests.oracle.debezium --document"
    )


def test_next_release_delivers_every_change() -> None:
    results = Results.load()
    assert [each.mode for each in results.modes] == list(MODES)
    assert {each.cdc_sidecar for each in results.modes} == {results.changes}
