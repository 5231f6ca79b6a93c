"""The algebra of progress: no event between plan and delivery loses a document."""

from bisect import bisect_left

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.snapshot.progress import KEPT_FINISHED, SnapshotProgress
from mongo_agent.snapshot.records import (
    Chunk,
    CollectionSnapshot,
    FinishedSnapshot,
    InitialSnapshot,
    SnapshotOutcome,
    SnapshotReason,
    SnapshotRequest,
)
from sidecar.errors import OffsetStoreError
from tests.support.mongodb.given_streams import selected_collection

SHOP = SnapshotRequest(SnapshotReason.INITIAL)


class Copies(RuleBasedStateMachine):
    """Two collections of numbers; a bound is a number as two bytes.

    Chunks are planned and delivered in any order, whole or in part. A crash restores the state that
    was stored last."""

    @initialize(sizes=st.tuples(st.integers(0, 9), st.integers(0, 9)))
    def begin(self, sizes: tuple[int, int]) -> None:
        self.ids = {1: list(range(sizes[0])), 2: list(range(0, 3 * sizes[1], 3))}
        selected = [selected_collection(SHOP, "a"), selected_collection(SHOP, "b")]
        self.progress = SnapshotProgress().requested(SHOP).resolved(SHOP, selected)
        self.delivered: list[tuple[int, int]] = []
        self.stored = self.progress.to_json(), list(self.delivered)

    @rule(number=st.sampled_from([1, 2]), chunks=st.integers(1, 3), size=st.integers(1, 4))
    def plan(self, number: int, chunks: int, size: int) -> None:
        entry = self.progress.entry(number)
        if entry is None or entry.is_planned:
            return
        bounds: list[bytes] = []
        lower = entry.planned_to
        for _ in range(chunks):
            at = self._at(number, lower) + size
            if at >= len(self.ids[number]):
                self.progress = self.progress.planned(number, bounds, is_whole=True)
                return
            lower = self.ids[number][at].to_bytes(2)
            bounds.append(lower)
        self.progress = self.progress.planned(number, bounds, is_whole=False)

    @rule(data=st.data())
    def deliver(self, data: st.DataObject) -> None:
        ready = [(each, chunk) for each in self.progress.collections for chunk in each.chunks]
        if not ready:
            return
        entry, chunk = data.draw(st.sampled_from(ready))
        found = self._in(entry.number, chunk)
        kept = data.draw(st.integers(0, len(found)))
        rest_from = found[kept].to_bytes(2) if kept < len(found) else None
        self.delivered += [(entry.number, each) for each in found[:kept]]
        self.progress = self.progress.delivered(entry.number, chunk, kept, rest_from)

    @rule(number=st.sampled_from([1, 2]), value=st.integers(0, 30))
    def insert_where_nothing_is_done(self, number: int, value: int) -> None:
        """A chunk may grow until its delivery."""
        entry = self.progress.entry(number)
        if entry is None or value in self.ids[number]:
            return
        missing = [*entry.chunks, *([] if entry.is_planned else [Chunk(entry.planned_to, None)])]
        stored = SnapshotProgress.from_json(self.stored[0]).entry(number)
        if stored is not None and any(_has(chunk, value) for chunk in missing):
            self.ids[number] = sorted([*self.ids[number], value])

    @rule()
    def store(self) -> None:
        self.stored = self.progress.to_json(), list(self.delivered)

    @rule()
    def crash(self) -> None:
        self.progress, self.delivered = (
            SnapshotProgress.from_json(self.stored[0]),
            [*self.stored[1]],
        )

    @invariant()
    def what_is_not_delivered_is_still_to_do(self) -> None:
        for number, ids in self.ids.items():
            done = [value for at, value in self.delivered if at == number]
            entry = self.progress.entry(number)
            missing: list[int] = []
            if entry is not None:
                chunks = [*entry.chunks]
                if not entry.is_planned:
                    chunks.append(Chunk(entry.planned_to, None))
                missing = [value for chunk in chunks for value in self._in(number, chunk)]
            assert sorted(done + missing) == ids

    @invariant()
    def the_copy_ends_with_its_last_document(self) -> None:
        is_over = self.progress.is_idle
        assert (self.progress.initial is InitialSnapshot.DONE) == is_over
        assert self.progress.initial_documents == len(self.delivered)
        if is_over:
            assert self.progress.finished_count == 2

    def _at(self, number: int, lower: bytes | None) -> int:
        return 0 if lower is None else bisect_left(self.ids[number], int.from_bytes(lower))

    def _in(self, number: int, chunk: Chunk) -> list[int]:
        return [value for value in self.ids[number] if _has(chunk, value)]


def _has(chunk: Chunk, value: int) -> bool:
    is_above = chunk.lower is None or int.from_bytes(chunk.lower) <= value
    return is_above and (chunk.upper is None or value < int.from_bytes(chunk.upper))


TestCopies = Copies.TestCase
TestCopies.settings = settings(max_examples=60, stateful_step_count=40)


bounds = st.none() | st.binary(max_size=9)
names = st.text(max_size=4)
chunks = st.builds(Chunk, bounds, bounds)
namespaces = st.sampled_from(
    [Namespaces(), Namespaces(include_databases=("a", "b")), Namespaces(mode="literal")]
)
progresses = st.builds(
    SnapshotProgress,
    requests=st.lists(
        st.builds(
            SnapshotRequest,
            st.sampled_from(SnapshotReason),
            st.tuples(names),
            st.tuples(st.tuples(names, names)),
            st.none() | namespaces,
            st.none() | names,
            st.tuples(names),
        ),
        max_size=2,
    ).map(tuple),
    collections=st.lists(
        st.builds(
            CollectionSnapshot,
            st.integers(1, 9),
            names,
            names,
            st.sampled_from(SnapshotReason),
            filter=st.none() | names,
            is_plain=st.booleans(),
            estimated=st.none() | st.integers(0, 9),
            planned_to=bounds,
            is_planned=st.booleans(),
            chunks=st.lists(chunks, max_size=3).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
    finished=st.lists(
        st.builds(
            FinishedSnapshot,
            names,
            st.sampled_from(SnapshotReason),
            st.sampled_from(SnapshotOutcome),
        ),
        max_size=2,
    ).map(tuple),
    initial=st.sampled_from(InitialSnapshot),
    scope=st.none() | namespaces,
    seen=st.lists(names, max_size=2).map(tuple),
    kafka_offset=st.none() | st.integers(0),
)


@given(progresses)
def test_snapshot_progress_round_trips(progress: SnapshotProgress) -> None:
    assert SnapshotProgress.from_json(progress.to_json()) == progress


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cannot be read"),
        ("[]", "cannot be read"),
        ("{}", "cannot be read"),
        ('{"version":1,"whatever":1}', "cannot be read"),
        ('{"version":1,"collections":[{"number":1}]}', "cannot be read"),
        ('{"version":2}', "has version 2; this agent supports 1"),
    ],
)
def test_snapshot_progress_of_unknown_format_is_rejected(text: str, said: str) -> None:
    with pytest.raises(OffsetStoreError, match=said):
        SnapshotProgress.from_json(text)


def test_finished_snapshot_entries_are_bounded() -> None:
    progress = SnapshotProgress()
    for _ in range(3):
        selected = [selected_collection(SHOP, f"v{each}", skipped="a view") for each in range(150)]
        progress = progress.requested(SHOP).resolved(SHOP, selected)
    assert len(progress.finished) == KEPT_FINISHED
    assert progress.finished_count == 450
    assert progress.initial is InitialSnapshot.DONE


def test_plans_of_stopped_snapshot_change_nothing() -> None:
    progress = SnapshotProgress().requested(SHOP).resolved(SHOP, [selected_collection(SHOP, "a")])
    stopped = progress.ended(1, SnapshotOutcome.STOPPED)
    assert stopped.planned(1, [b"x"], is_whole=True) == stopped
    assert stopped.delivered(1, Chunk(None, None), 5) == stopped
    assert stopped.resolved(SHOP, [selected_collection(SHOP, "a")]) == stopped


def test_stopped_initial_snapshot_is_aborted_until_next_request() -> None:
    asked = SnapshotProgress().requested(SHOP)
    begun = asked.resolved(SHOP, [selected_collection(SHOP, "a")])
    for stopped in (asked.without_requests(), begun.ended(1, SnapshotOutcome.STOPPED)):
        assert stopped.is_aborted
        assert SnapshotProgress.from_json(stopped.to_json()) == stopped
        assert not stopped.requested(SHOP).is_aborted
    assert not begun.ended(1, SnapshotOutcome.DROPPED).is_aborted
