"""A kill at any side effect loses no event, and the number of repeats is bounded."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from agent.segments.offsets import offsets_from_entries
from agent.transfer.transfer import ArchiveTransfer
from sidecar.errors import SinkRestartError
from tests.support.pipeline.crash_injector import CrashInjector, Killed
from tests.support.pipeline.fakes import LateExecutor, Log, event_id
from tests.support.pipeline.harness import NODE_ID, PipelineHarness

WINDOW_EVENTS = 12
RECORDS = st.lists(st.integers(0, 4), min_size=1, max_size=4)


class KilledPipeline(RuleBasedStateMachine):
    """A node writes, a sink answers arbitrarily, and the agent is killed repeatedly."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="agent-kill-"))
        self.injector = CrashInjector()
        self.worker = LateExecutor()
        self.harness = PipelineHarness(
            self.directory,
            window_max_events=WINDOW_EVENTS,
            batch_max_events=3,
            blocked_timeout_ms=5000,
            make_worker=self.new_worker,
        )
        self.harness.store = self.injector.store()
        self.harness.quarantine = self.injector.quarantine(self.harness.relocation / "error")
        self.harness.transfer = self.injector.transfer(ArchiveTransfer(self.harness.relocation))
        self.safe: set[str] = set()
        self.refused: set[str] = set()
        self.repeats = 0
        self.repeats_allowed = 0
        self.logs: list[Log] = []
        self.restart()
        self.node_creates()

    # The node.

    @rule()
    def node_creates(self) -> None:
        if self.logs:
            self.node_completes()
        self.logs.append(self.harness.raw.segment(1000 + len(self.logs)))

    @rule(records=RECORDS, table=st.sampled_from(["ks.t", "ks.t", "ks.t", "ks.gone"]))
    def node_writes(self, records: list[int], table: str) -> None:
        log = self.logs[-1]
        log.add(*records, table=table)
        self.harness.raw.index(log, log.end)

    @rule()
    def node_writes_damage(self) -> None:
        self.logs[-1].add(1, is_damaged=True)
        self.harness.raw.index(self.logs[-1], self.logs[-1].end)

    def node_completes(self) -> None:
        if self.logs[-1].records:
            self.harness.raw.index(self.logs[-1], "1048576\nCOMPLETED")

    @rule()
    def node_replays(self) -> None:
        """Relink every remaining segment, whether or not the agent has finished it."""
        for log in self.logs[:-1]:
            if log.records and log.name.log not in self.harness.raw.names():
                self.harness.raw.link(log)
                self.harness.raw.index(log, "1048576\nCOMPLETED")

    # The sink.

    @rule(chosen=st.lists(st.integers(0, WINDOW_EVENTS), max_size=6, unique=True))
    def sink_acknowledges(self, chosen: list[int]) -> None:
        waiting = list(self.harness.sink.waiting)
        self.acknowledge([waiting[index] for index in chosen if index < len(waiting)])

    @rule()
    def sink_acknowledges_all(self) -> None:
        self.acknowledge(list(self.harness.sink.waiting))

    @rule(index=st.integers(0, WINDOW_EVENTS))
    def sink_refuses(self, index: int) -> None:
        if index < len(self.harness.sink.waiting):
            number = self.harness.sink.waiting[index]
            self.refused.add(self.ids()[number])
            self.harness.sink.fail(number, "too large")

    @rule()
    def sink_restarts(self) -> None:
        self.harness.sink.raise_next(SinkRestartError("events were lost"))
        self.repeats_allowed += WINDOW_EVENTS

    def acknowledge(self, numbers: list[int]) -> None:
        ids = self.ids()
        self.repeats += sum(ids[number] in self.safe for number in numbers)
        self.safe.update(ids[number] for number in numbers)
        self.harness.sink.acknowledge(numbers)

    def ids(self) -> dict[int, str]:
        return {
            number: (message[2] or b"").decode().strip('"')
            for number, message in self.harness.sink.messages
        }

    # The operator.

    @rule()
    def somebody_asks_for_what_is_quarantined(self) -> None:
        kept = self.harness.quarantined()
        for log in self.logs:
            if log.name.log in kept:
                self.repeats_allowed += sum(record.events for record in log.records)
        self.harness.quarantine.request_all()

    # The agent.

    def new_worker(self) -> LateExecutor:
        """Create a worker after the abandoned read of the previous one ends."""
        self.worker.work()
        self.worker = LateExecutor()
        return self.worker

    @rule(reads_end=st.lists(st.booleans(), min_size=1, max_size=12))
    def turns(self, reads_end: list[bool]) -> None:
        """Run ticks; a read ends before its tick or continues."""
        try:
            for read_ends in reads_end:
                if read_ends:
                    self.worker.work()
                self.harness.tick()
        except Killed:
            self.restart()

    @rule(seconds=st.sampled_from([1, 3, 6]))
    def time_passes(self, seconds: int) -> None:
        self.harness.clock.advance(seconds)
        self.turns([True] * 4)

    @rule(effects=st.integers(0, 8))
    def crash_later(self, effects: int) -> None:
        self.injector.effects_left = effects

    @rule()
    def restart(self) -> None:
        self.injector.effects_left = None
        self.repeats_allowed += WINDOW_EVENTS
        self.harness.kill(sink=self.injector.sink())

    # Invariants.

    @invariant()
    def progress_is_never_ahead(self) -> None:
        ledger = offsets_from_entries(self.harness.store.values, NODE_ID)
        for log in self.logs:
            position = log.end if ledger.is_completed(log.name) else ledger.position(log.name)
            assert _known(log, position) <= self.safe | self.refused

    @invariant()
    def what_left_is_somewhere(self) -> None:
        names = self.harness.raw.names() | self.harness.archived() | self.harness.quarantined()
        assert all(log.name.log in names for log in self.logs)

    @invariant()
    def repeats_are_within_the_window(self) -> None:
        assert self.repeats <= self.repeats_allowed

    def teardown(self) -> None:
        try:
            self.injector.effects_left = None
            self.node_completes()
            quiet = 0
            while quiet < 3:
                # Longer than any pause, including that of a restarting sink.
                self.harness.clock.advance(31)
                self.harness.settle()
                while self.worker.work():
                    self.harness.settle()
                quiet = quiet + 1 if not self.harness.sink.waiting else 0
                self.acknowledge(list(self.harness.sink.waiting))
            self.check_the_end()
        finally:
            self.harness.pipeline.loop.abandon()
            shutil.rmtree(self.directory)

    def check_the_end(self) -> None:
        known = set[str]().union(*(_known(log, log.end) for log in self.logs))
        assert known - self.safe - self.refused == set()
        assert self.safe <= known, "nothing is invented"
        kept = self.harness.quarantined()
        for log in self.logs:
            is_whole = all(r.table == "ks.t" and not r.is_damaged for r in log.records)
            if log.records:
                assert (log.name.log in kept) == (not is_whole)
                assert log.name.log not in self.harness.raw.names()
        for event in self.refused - self.safe:
            name = f"CommitLog-7-{event.split('/')[0]}.log.events.ndjson"
            assert f'"{event}"' in (self.harness.relocation / "error" / name).read_text()


def _known(log: Log, position: int) -> set[str]:
    """Events up to a position that must arrive."""
    return {
        event_id(log.name, record, index)
        for record in log.records
        if record.end <= position and record.table == "ks.t" and not record.is_damaged
        for index in range(record.events)
    }


@pytest.mark.parametrize("examples", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_killed_pipeline_loses_no_event(examples: int) -> None:
    many = settings(max_examples=examples, stateful_step_count=40)
    run_state_machine_as_test(KilledPipeline, settings=many)
