"""Reading ahead of sending: its extent, and the fate of read batches after a change of state."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.pipeline.reader import open_with
from commitlog import CounterHistory, EventFormat, Schema
from sidecar.errors import SinkRestartError
from sidecar.events import Message
from sidecar.process.lifecycle import Stop
from tests.support.events.counter_following import Table
from tests.support.pipeline.fakes import LateExecutor
from tests.support.pipeline.harness import MakeHarness, PipelineHarness
from tests.support.record.plan import FIXTURES
from tests.support.segments.recorded_segments import (
    complete,
    over_segments,
    packed_segments,
    put_recording,
    readable_folders,
    source,
    unpack,
)
from tests.support.segments.segment_reading import Event
from tests.support.sinks.memory_sink import MemorySink


class Worker:
    """The read worker of each start of the agent."""

    def __init__(self) -> None:
        self.latest = LateExecutor()

    def make(self) -> LateExecutor:
        self.latest = LateExecutor()
        return self.latest

    def work(self) -> bool:
        return self.latest.work()

    @property
    def is_asked(self) -> bool:
        return bool(self.latest.tasks)


@pytest.fixture
def worker() -> Worker:
    return Worker()


def settle(
    harness: PipelineHarness, worker: Worker, after_each: Callable[[], None] = lambda: None
) -> None:
    """Run ticks and reads until the pipeline is idle."""
    harness.settle()
    while worker.work():
        harness.settle()
        after_each()
    harness.settle()


def test_next_read_begins_before_last_batch_is_sent(
    make_harness: MakeHarness, worker: Worker
) -> None:
    harness = make_harness(make_worker=worker.make, sink=MemorySink(automatic=False))
    harness.tick()
    log = harness.raw.completed(1, *[1] * 100)
    harness.tick()
    worker.work()
    harness.tick()
    assert harness.collect() == log.ids()[:10]
    assert worker.is_asked
    worker.work()
    harness.tick()
    assert harness.collect() == log.ids()[:20]
    assert worker.is_asked


def test_batches_read_ahead_bridge_a_slow_read(make_harness: MakeHarness, worker: Worker) -> None:
    """Each tick sends one batch, so batches read ahead bridge a late read."""
    sink = MemorySink(automatic=False, capacity=0)
    harness = make_harness(make_worker=worker.make, sink=sink)
    log = harness.raw.completed(1, *[1] * 100)
    settle(harness, worker)
    assert log.reads == 3, "two wait, and one more is read"
    sink.capacity = None
    for sent in (10, 20, 30):
        harness.tick()
        assert len(sink.messages) == sent
    assert not harness.pipeline.tick(), "the next read goes on"
    worker.work()
    harness.tick()
    assert (len(sink.messages), harness.collect()) == (40, log.ids()[:40])


def test_batches_read_ahead_are_sent_while_segment_is_blocked(
    make_harness: MakeHarness, worker: Worker
) -> None:
    """Later events follow once the schema is known."""
    sink = MemorySink(automatic=False, capacity=0)
    harness = make_harness(make_worker=worker.make, sink=sink)
    log = harness.raw.completed(1, *[1] * 15).add(1, table="ks.new").add(1)
    settle(harness, worker)
    assert (harness.phases, sink.messages) == (["blocked"], [])
    sink.capacity = None
    harness.settle()
    assert harness.collect() == log.ids()[:15]
    sink.acknowledge()
    harness.settle()
    assert harness.store.values[log.name.log] == str(log.records[14].end)
    harness.schema.schema = harness.raw.schema("ks.t", "ks.new")
    settle(harness, worker)
    assert harness.collect() == log.ids()


def test_record_abandoned_after_batches_ahead_quarantines_segment(
    make_harness: MakeHarness, worker: Worker
) -> None:
    sink = MemorySink(automatic=False, capacity=0)
    harness = make_harness(make_worker=worker.make, sink=sink, blocked_timeout_ms=10_000)
    log = harness.raw.completed(1, *[1] * 15).add(1, table="ks.gone").add(*[1] * 15)
    for _ in range(12):
        harness.clock.advance(1)
        settle(harness, worker)
    sink.capacity = None
    settle(harness, worker)
    known = [event for event in log.ids() if event.split("/")[1] != str(log.records[15].end)]
    assert harness.collect() == known
    sink.acknowledge()
    harness.settle()
    assert log.name.log in harness.quarantined()


def test_fully_read_segment_remains_until_acknowledged(
    make_harness: MakeHarness, worker: Worker
) -> None:
    sink = MemorySink(automatic=False)
    harness = make_harness(make_worker=worker.make, sink=sink)
    first, second = harness.raw.completed(1, 5), harness.raw.completed(2, 5)
    settle(harness, worker)
    assert harness.collect() == first.ids() + second.ids()
    assert {first.name.log, second.name.log} <= harness.raw.names()
    sink.acknowledge(sink.waiting[5:])
    harness.settle()
    assert {first.name.log, second.name.log} <= harness.raw.names()
    assert harness.store.values.get(first.name.log) is None
    sink.acknowledge()
    harness.settle()
    assert harness.raw.names() == set()


def test_index_update_does_not_extend_running_read(
    make_harness: MakeHarness, worker: Worker
) -> None:
    """The read ends at the index position of its start; the next read continues there."""
    harness = make_harness(make_worker=worker.make)
    harness.tick()
    log = harness.raw.segment(1, 1, 1)
    harness.raw.index(log, log.records[0].end)
    harness.tick()
    harness.raw.index(log, log.end)
    harness.tick()
    worker.work()
    harness.tick()
    assert harness.collect() == log.ids()[:1]
    settle(harness, worker)
    assert harness.collect() == log.ids()
    assert [limit for _, _, limit, _ in harness.raw.orders[:2]] == [log.records[0].end, log.end]


def test_sink_restart_drops_running_read(make_harness: MakeHarness, worker: Worker) -> None:
    sink = MemorySink(automatic=False)
    harness = make_harness(make_worker=worker.make, sink=sink)
    log = harness.raw.completed(1, *[1] * 40)
    for _ in range(2):
        harness.tick()
        worker.work()
    harness.tick()
    assert worker.is_asked
    sink.acknowledge(sink.waiting[:5])
    harness.tick()
    harness.collect()
    sink.raise_next(SinkRestartError("events were lost"))
    harness.tick()
    harness.clock.advance(1)
    settle(harness, worker, sink.acknowledge)
    assert (harness.collect()[-35:], harness.raw.names()) == (log.ids()[5:], set())


def test_kill_with_batches_ahead_repeats_only_sent_events(
    make_harness: MakeHarness, worker: Worker
) -> None:
    sink = MemorySink(automatic=False, capacity=10)
    harness = make_harness(make_worker=worker.make, sink=sink)
    log = harness.raw.completed(1, *[1] * 100)
    settle(harness, worker)
    sink.acknowledge(sink.waiting[:4])
    harness.settle()
    assert harness.store.values[log.name.log] == str(log.records[3].end)
    harness.kill(sink=MemorySink())
    settle(harness, worker)
    assert harness.collect()[14:] == log.ids()[4:], "14 were taken, 4 of them were acknowledged"
    assert harness.raw.names() == set()


def test_stop_sends_batches_read_ahead_without_further_reads(
    make_harness: MakeHarness, worker: Worker
) -> None:
    sink = MemorySink(capacity=0)
    harness = make_harness(make_worker=worker.make, sink=sink)
    log = harness.raw.completed(1, *[1] * 100)
    for _ in range(3):
        harness.tick()
        worker.work()
    harness.tick()
    assert worker.is_asked
    reads = log.reads
    sink.capacity = None
    stop = Stop(20_000)
    stop.request()
    harness.pipeline.run(stop)
    stop.close()
    sent = harness.collect()
    assert (sent, len(sent)) == (log.ids()[: len(sent)], 10 * reads)
    assert harness.store.values[log.name.log] == str(log.records[len(sent) - 1].end)


# Real segments.


def facts(message: Message) -> dict[str, Any]:
    value = json.loads(message[2] or b"null")
    del value["ts_ms"]
    return {"key": json.loads(message[1]), "value": value, "topic": message[0]}


def read_alone(harness: PipelineHarness, folder: Path, schema: Schema) -> dict[str, dict[str, Any]]:
    """Put a recording into cdc_raw; return all events as a separate reader decodes them, each
    with the schema at its position."""
    events, _ = put_recording(harness, folder, schema)
    return {source(message): facts(message) for message in events}


CHANGING = [f for f in readable_folders() if f.name in ("types", "peer", "f11-schema-churn")]


@pytest.mark.parametrize(
    "folder", CHANGING, ids=lambda folder: f"{folder.parent.name}-{folder.name}"
)
def test_event_schema_matches_log_position_despite_read_ahead(
    make_harness: MakeHarness, worker: Worker, folder: Path
) -> None:
    """Every event has the schema at its log position, for any order of reads, sends, sink restarts
    and agent kills."""
    schema_text = (folder / "schema.cql").read_text(encoding="utf-8")
    sink = MemorySink(automatic=False, capacity=25)
    options = {"window_max_events": 100, "batch_max_events": 10}
    harness = over_segments(
        make_harness, schema_text, make_worker=worker.make, sink=sink, **options
    )
    expected = read_alone(harness, folder, Schema.from_cql(schema_text))
    delivered: dict[str, dict[str, Any]] = {}
    for turn in range(20_000):
        if turn % 3:
            worker.work()
        if turn % 5 == 0:
            harness.clock.advance(31)
            sink.acknowledge(sink.waiting[::-1][: turn % 40])
        if turn % 211 == 210:
            sink.raise_next(SinkRestartError("events were lost"))
        harness.tick()
        delivered.update((source(message), facts(message)) for _, message in sink.messages)
        sink.messages.clear()
        if not harness.raw.names():
            break
        if turn % 307 == 306:
            worker.work()
            sink = MemorySink(automatic=False, capacity=25)
            harness.kill(sink=sink)
    assert (harness.raw.names(), delivered) == (set(), expected)


COUNTERS = FIXTURES / "5.0" / "counter-shards"


@pytest.mark.parametrize("node", ["node1", "node2", "node3"])
def test_counters_reread_after_dropped_batch_are_not_double_counted(
    make_harness: MakeHarness, worker: Worker, node: str
) -> None:
    """A consumer of the events reaches the result of SELECT: a reread shard is repeated, not
    counted twice."""
    folder = COUNTERS / node
    shards = EventFormat(
        topic_prefix="t", cluster="c", node_id="n", counter_events="shards", all_tables=True
    )
    sink = MemorySink(automatic=False)
    harness = make_harness(
        make_worker=worker.make,
        sink=sink,
        open_reader=open_with(shards, CounterHistory(1 << 20)),
        schema=Schema.from_cql((folder / "schema.cql").read_text(encoding="utf-8")),
        window_max_events=40,
        batch_max_events=5,
        blocked_timeout_ms=1000,
    )
    (packed,) = packed_segments(folder)
    complete(harness, unpack(harness.raw.directory, packed)[1])
    hits = Table()
    for turn in range(20_000):
        if turn % 3:
            worker.work()
        if turn % 4 == 0:
            harness.clock.advance(31)
            sink.acknowledge(sink.waiting[:7])
        if turn % 11 == 10:
            # The result of the running read is discarded.
            sink.raise_next(SinkRestartError("events were lost"))
        harness.tick()
        events = [_event(message) for _, message in sink.messages]
        hits.apply(e for e in events if e.value["source"]["keyspace"] == "triple")
        sink.messages.clear()
        if not harness.raw.names():
            break
    assert harness.raw.names() == set()
    assert "cdc_sink_restarts_total 0.0" not in harness.metrics.delivery.render().decode()
    hits.check(json.loads((COUNTERS / "answers.json").read_text())["triple"])
    assert hits.deltas > 0


def _event(message: Message) -> Event:
    topic, key, value, headers, _ = message
    named = {name: text.hex() if name == "cdc.id" else text.decode() for name, text in headers}
    return Event(
        topic=topic, key=json.loads(key), value=json.loads(value or b"null"), headers=named
    )
