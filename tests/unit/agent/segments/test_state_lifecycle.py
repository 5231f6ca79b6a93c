"""Random lifecycles of segments: the machine and the ledger against a model of a node."""

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from agent.cdc_raw.names import SegmentName
from agent.segments.offsets import SegmentOffsets
from agent.segments.plan import segments_from_offsets
from agent.segments.state import Phase, ReadRequest, Segment, after_acknowledgement, after_read
from tests.support.node.node_model import Content, Node

Batch = tuple[SegmentName, list[int], int]
NODE_ID = "node-1"


class SegmentLifecycle(RuleBasedStateMachine):
    """The agent reads, acknowledges, removes and dies; the node writes meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.node = Node()
        self.stored = SegmentOffsets(NODE_ID)
        self.delivered: set[tuple[SegmentName, int]] = set()
        self.reported: set[SegmentName] = set()
        self.known: set[SegmentName] = set()
        """Segments of which the running agent has seen an update."""
        self.emitted: set[tuple[SegmentName, int]] = set()
        self.start_agent()

    def start_agent(self) -> None:
        self.ledger = self.stored
        self.segments = segments_from_offsets(self.ledger)
        self.known = set(self.ledger.positions)
        self.window: list[Batch] = []
        self.open: dict[SegmentName, Content] = {}

    # The node.

    @precondition(lambda self: self.node.is_up)
    @rule(changes=st.lists(st.booleans(), min_size=1, max_size=4))
    def node_writes(self, changes: list[bool]) -> None:
        for change in changes:
            self.node.write(change)

    @precondition(lambda self: self.node.is_up)
    @rule()
    def node_chains(self) -> None:
        self.node.chain()

    @precondition(lambda self: self.node.is_up)
    @rule()
    def node_syncs(self) -> None:
        self.node.sync()

    @precondition(lambda self: self.node.is_up)
    @rule()
    def node_advances(self) -> None:
        self.node.advance()

    @precondition(lambda self: self.node.is_up)
    @rule()
    def node_discards(self) -> None:
        self.node.discard_oldest()

    @precondition(lambda self: self.node.is_up)
    @rule()
    def node_drops_the_oldest(self) -> None:
        self.node.drop()

    @rule()
    def somebody_drops_what_is_open(self) -> None:
        for name in self.open:
            self.node.drop(name)

    @precondition(lambda self: self.node.is_up)
    @rule(clean=st.booleans())
    def node_ends(self, clean: bool) -> None:
        if clean:
            self.node.stop()
        else:
            self.node.kill()

    @precondition(lambda self: not self.node.is_up)
    @rule()
    def node_starts(self) -> None:
        self.node.start()

    # The agent.

    @rule(retry=st.booleans())
    def look(self, retry: bool = False) -> None:
        self.segments.observe(self.node.observation(), self.ledger, retry=retry)
        self.known |= {segment.name for segment in self.segments if segment.idx.has_update}
        for lost in self.segments.lost:
            self.reported.add(lost.name)
            self.change(lost.name, is_reported=True)

    @rule(at_most=st.integers(1, 3))
    def read_some(self, at_most: int) -> None:
        order = self.segments.next_read
        if order is None:
            return
        content = self.open.get(order.name) or self.node.logs.get(order.name)
        if content is None:
            return
        self.open = {order.name: content}
        for segment in self.segments:
            self.change(segment.name, is_opened=segment.name in self.open)
        assert not self.ledger.is_completed(order.name), "read again after it was finished"
        self.check_within_limits(content, order)
        records, position, at_end = content.read(order.position, order.limit, at_most)
        self.emitted.update((order.name, record) for record in records)
        self.window.append((order.name, records, position))
        self.segments.change(
            order.name, lambda segment: after_read(segment, order, position, at_end=at_end)
        )

    @rule(batches=st.integers(1, 3))
    def acknowledge(self, batches: int) -> None:
        for name, records, position in self.window[:batches]:
            self.delivered.update((name, record) for record in records)
            before = self.ledger.position(name)
            self.ledger = self.ledger.advanced(name, position)
            reached = self.ledger.position(name)
            assert reached >= before or self.ledger.is_completed(name)
            self.segments.change(name, partial(after_acknowledgement, position=reached))
        del self.window[:batches]

    @rule(rounds=st.integers(1, 6), is_finishing=st.booleans())
    def work(self, rounds: int, is_finishing: bool) -> None:
        """Run several steps in the pipeline's order, so that lifecycles progress."""
        for _ in range(rounds):
            self.look(retry=False)
            self.read_some(at_most=2)
            self.acknowledge(batches=1)
            if is_finishing:
                self.finish()

    @rule()
    def finish(self) -> None:
        for name in self.segments.drained:
            self.ledger = self.stored = self.ledger.finished(name).trimmed(self.node.logs)
            self.remove(name)
            self.segments.remove(name)
            self.open.pop(name, None)

    @rule()
    def store(self) -> None:
        self.stored = self.ledger

    @rule(is_storing=st.booleans(), is_dropped=st.booleans())
    def agent_dies(self, is_storing: bool, is_dropped: bool) -> None:
        if is_storing:
            self.store()
        self.start_agent()
        if is_dropped:
            self.node.drop()
            self.look()

    @rule(name_index=st.integers(0, 5))
    def hold(self, name_index: int) -> None:
        for index, segment in enumerate(self.segments):
            self.change(segment.name, is_blocked=index == name_index and segment.log is not None)

    def change(self, name: SegmentName, **fields: bool) -> None:
        def changed(segment: Segment) -> Segment:
            return replace(segment, **fields)  # type: ignore[arg-type]

        self.segments.change(name, changed)

    # Invariants.

    def check_within_limits(self, content: Content, order: ReadRequest) -> None:
        idx = self.node.indexes.get(order.name)
        if order.complete:
            is_active = self.node.is_up and content in self.node.commitlog[-2:]
            assert not is_active, "a live segment is read up to its index only"
            is_closed = not content.in_commitlog or (idx is not None and idx.completed)
            assert is_closed or order.name in self.node.dropped
        else:
            assert order.limit is not None
            assert order.limit in content.sections

    def remove(self, name: SegmentName) -> None:
        content = self.node.logs.pop(name, None)
        self.node.indexes.pop(name, None)
        if content is None:
            return
        undelivered = {(name, record) for record in content.records} - self.delivered
        assert not undelivered, f"removed before it was acknowledged: {undelivered}"
        assert not (self.node.is_up and content is self.node.active)

    @invariant()
    def nothing_is_invented(self) -> None:
        for content in self.node.all:
            chained = {(content.name, r) for r in content.records if r <= content.chain_end}
            assert {event for event in self.emitted if event[0] == content.name} <= chained

    @invariant()
    def progress_never_runs_ahead(self) -> None:
        for name, position in self.stored.positions.items():
            content = next(c for c in self.node.all if c.name == name)
            before = {(name, record) for record in content.records if record <= position}
            assert before <= self.delivered

    @invariant()
    def one_segment_is_held_at_most(self) -> None:
        assert self.segments.count_by_phase[Phase.BLOCKED] <= 1

    @invariant()
    def the_answers_are_those_of_a_pass_over_all(self) -> None:
        segments = self.segments
        everything = sorted(segments.all(), key=lambda each: each.name)
        assert list(segments) == everything
        assert segments.count_by_phase == {
            phase: sum(each.phase is phase for each in everything) for phase in Phase
        }
        assert segments.readable_bytes == sum(each.readable_bytes for each in everything)
        in_turn = [each for each in everything if each.is_blocked or each.next_read is not None]
        is_open = bool(in_turn) and not in_turn[0].is_blocked
        assert segments.next_read == (in_turn[0].next_read if is_open else None)
        leaving = [each.name for each in everything if each.is_drained and not each.is_lost]
        assert segments.drained == tuple(leaving)
        lost = [each for each in everything if each.is_lost and not each.is_reported]
        assert segments.lost == tuple(lost)
        assert {each.name for each in segments.opened} == {
            each.name for each in everything if each.is_opened
        }

    def teardown(self) -> None:
        """Finally all remaining segments are read and only live segments stay; segments that a
        replay relinks are removed unread."""
        for segment in self.segments:
            self.change(segment.name, is_blocked=False)
        if not self.node.is_up:
            self.node.start()
        for change in (True, False):
            self.node.write(change)
            self.node.sync()
        self.settle()
        self.node.advance()
        self.node.write(True)
        self.node.sync()
        self.settle()
        self.check_all_is_read()
        self.node.kill()
        self.node.start()
        self.settle()
        self.node.write(True)
        self.node.sync()
        self.settle()
        self.check_all_is_read()

    def settle(self) -> None:
        bound = 4 * sum(len(content.records) for content in self.node.all) + 50
        for _ in range(bound):
            before = self.segments.all()
            self.work(rounds=1, is_finishing=True)
            if before == self.segments.all() and not self.window:
                break
        assert self.segments.next_read is None, "it would read for ever"

    def check_all_is_read(self) -> None:
        waiting = [s.name for s in self.segments if s.log is None and not s.is_lost]
        assert not waiting, f"it waits for what is gone: {waiting}"
        missing = {
            (content.name, record)
            for content in self.node.all
            for record in content.changes
            if record <= content.chain_end and content.name not in self.node.dropped
        } - self.delivered
        assert not missing, f"never delivered: {missing}"
        undelivered = {
            content.name
            for content in self.node.all
            if any((content.name, record) not in self.delivered for record in content.changes)
        }
        # A segment dropped before the agent sees an update leaves no trace.
        unreported = (undelivered & self.node.dropped & self.known) - self.reported
        assert not unreported, f"lost without a report: {unreported}"
        for name in self.node.logs:
            content = next(c for c in self.node.all if c.name == name)
            assert content.in_commitlog or name == max(self.node.logs), f"{name} stays behind"


@pytest.mark.parametrize("examples", [120, pytest.param(600, marks=pytest.mark.slow)])
def test_segment_lifecycles_lose_no_record(examples: int) -> None:
    many = settings(max_examples=examples, stateful_step_count=60)
    run_state_machine_as_test(SegmentLifecycle, settings=many)
