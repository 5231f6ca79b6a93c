"""Reading runs ahead of sending: by how much, and what becomes of what was read when something
changes meanwhile."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.cdc_raw import SegmentName, parse_log_name
from agent.pipeline import open_with
from commitlog import CounterHistory, EventFormat, Schema
from sidecar.errors import SinkRestartError
from sidecar.events import Message
from sidecar.process.lifecycle import Stop
from tests.support.counter_following import Table
from tests.support.memory_sink import MemorySink
from tests.support.pipeline_fakes import LateExecutor
from tests.support.pipeline_harness import Rig
from tests.support.record.plan import FIXTURES
from tests.support.recorded_segments import (
    FORMAT,
    known_events,
    packed_segments,
    put,
    readable_folders,
    source,
)
from tests.support.segment_reading import Event

MakeRig = Callable[..., Rig]


class Worker:
    """The worker of every life of the agent."""

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


def settle(rig: Rig, worker: Worker, after_each: Callable[[], None] = lambda: None) -> None:
    """Turns and reads until nothing is to do."""
    rig.settle()
    while worker.work():
        rig.settle()
        after_each()
    rig.settle()


def test_a_read_begins_before_the_batch_that_came_last_is_sent(
    make_rig: MakeRig, worker: Worker
) -> None:
    rig = make_rig(make_worker=worker.make, sink=MemorySink(automatic=False))
    rig.tick()
    log = rig.raw.completed(1, *[1] * 100)
    rig.tick()
    worker.work()
    rig.tick()
    assert rig.collect() == log.ids()[:10]
    assert worker.is_asked
    worker.work()
    rig.tick()
    assert rig.collect() == log.ids()[:20]
    assert worker.is_asked


def test_a_read_that_takes_long_leaves_something_to_send(make_rig: MakeRig, worker: Worker) -> None:
    """One batch is sent in a turn, so what was read in time bridges a read that is late."""
    sink = MemorySink(automatic=False, capacity=0)
    rig = make_rig(make_worker=worker.make, sink=sink)
    log = rig.raw.completed(1, *[1] * 100)
    settle(rig, worker)
    assert log.reads == 3, "two wait, and one more is read"
    sink.capacity = None
    for sent in (10, 20, 30):
        rig.tick()
        assert len(sink.messages) == sent
    assert not rig.pipeline.tick(), "the next read goes on"
    worker.work()
    rig.tick()
    assert len(sink.messages) == 40
    assert rig.collect() == log.ids()[:40]


def test_a_hold_with_batches_ahead_of_the_sink(make_rig: MakeRig, worker: Worker) -> None:
    """They are sent while the segment is held, and what is behind follows the schema."""
    sink = MemorySink(automatic=False, capacity=0)
    rig = make_rig(make_worker=worker.make, sink=sink)
    log = rig.raw.completed(1, *[1] * 15)
    log.add(1, table="ks.new")
    log.add(1)
    settle(rig, worker)
    assert rig.phases == ["blocked"]
    assert sink.messages == []
    sink.capacity = None
    rig.settle()
    assert rig.collect() == log.ids()[:15]
    sink.acknowledge()
    rig.settle()
    assert rig.store.values[log.name.log] == str(log.records[14].end)
    rig.schema.schema = rig.raw.schema("ks.t", "ks.new")
    settle(rig, worker)
    assert rig.collect() == log.ids()


def test_a_hold_that_ends_in_vain_with_batches_ahead(make_rig: MakeRig, worker: Worker) -> None:
    sink = MemorySink(automatic=False, capacity=0)
    rig = make_rig(make_worker=worker.make, sink=sink, blocked_timeout_ms=10_000)
    log = rig.raw.completed(1, *[1] * 15)
    log.add(1, table="ks.gone")
    log.add(*[1] * 15)
    for _ in range(12):
        rig.clock.advance(1)
        settle(rig, worker)
    sink.capacity = None
    settle(rig, worker)
    known = [event for event in log.ids() if event.split("/")[1] != str(log.records[15].end)]
    assert rig.collect() == known
    sink.acknowledge()
    rig.settle()
    assert log.name.log in rig.quarantined()


def test_a_read_into_the_next_segment_keeps_the_first_until_it_is_acknowledged(
    make_rig: MakeRig, worker: Worker
) -> None:
    sink = MemorySink(automatic=False)
    rig = make_rig(make_worker=worker.make, sink=sink)
    first, second = rig.raw.completed(1, 5), rig.raw.completed(2, 5)
    settle(rig, worker)
    assert rig.collect() == first.ids() + second.ids()
    assert {first.name.log, second.name.log} <= rig.raw.names()
    sink.acknowledge(sink.waiting[5:])
    rig.settle()
    assert {first.name.log, second.name.log} <= rig.raw.names()
    assert rig.store.values.get(first.name.log) is None
    sink.acknowledge()
    rig.settle()
    assert rig.raw.names() == set()


def test_an_index_that_moves_while_a_read_goes_on(make_rig: MakeRig, worker: Worker) -> None:
    """The read keeps to what the index said when it began; the rest is read by the next one."""
    rig = make_rig(make_worker=worker.make)
    rig.tick()
    log = rig.raw.segment(1, 1, 1)
    rig.raw.index(log, log.records[0].end)
    rig.tick()
    rig.raw.index(log, log.end)
    rig.tick()
    worker.work()
    rig.tick()
    assert rig.collect() == log.ids()[:1]
    settle(rig, worker)
    assert rig.collect() == log.ids()
    assert [limit for _, _, limit, _ in rig.raw.orders[:2]] == [log.records[0].end, log.end]


def test_a_sink_that_starts_again_drops_the_read_that_goes_on(
    make_rig: MakeRig, worker: Worker
) -> None:
    sink = MemorySink(automatic=False)
    rig = make_rig(make_worker=worker.make, sink=sink)
    log = rig.raw.completed(1, *[1] * 40)
    for _ in range(2):
        rig.tick()
        worker.work()
    rig.tick()
    assert worker.is_asked
    sink.acknowledge(sink.waiting[:5])
    rig.tick()
    rig.collect()
    sink.raise_next(SinkRestartError("events were lost"))
    rig.tick()
    rig.clock.advance(1)
    settle(rig, worker, sink.acknowledge)
    assert rig.collect()[-35:] == log.ids()[5:]
    assert rig.raw.names() == set()


def test_a_kill_with_batches_ahead_repeats_only_what_was_sent(
    make_rig: MakeRig, worker: Worker
) -> None:
    sink = MemorySink(automatic=False, capacity=10)
    rig = make_rig(make_worker=worker.make, sink=sink)
    log = rig.raw.completed(1, *[1] * 100)
    settle(rig, worker)
    sink.acknowledge(sink.waiting[:4])
    rig.settle()
    assert rig.store.values[log.name.log] == str(log.records[3].end)
    rig.kill(sink=MemorySink())
    settle(rig, worker)
    assert rig.collect()[14:] == log.ids()[4:], "14 were taken, 4 of them were acknowledged"
    assert rig.raw.names() == set()


def test_a_stop_with_batches_ahead_sends_them_and_reads_no_more(
    make_rig: MakeRig, worker: Worker
) -> None:
    sink = MemorySink(capacity=0)
    rig = make_rig(make_worker=worker.make, sink=sink)
    log = rig.raw.completed(1, *[1] * 100)
    for _ in range(3):
        rig.tick()
        worker.work()
    rig.tick()
    assert worker.is_asked
    reads = log.reads
    sink.capacity = None
    stop = Stop(20_000)
    stop.request()
    rig.pipeline.run(stop)
    stop.close()
    sent = rig.collect()
    assert sent == log.ids()[: len(sent)]
    assert len(sent) == 10 * reads
    assert rig.store.values[log.name.log] == str(log.records[len(sent) - 1].end)


# Real segments.


def facts(message: Message) -> dict[str, Any]:
    value = json.loads(message[2] or b"null")
    del value["ts_ms"]
    return {"key": json.loads(message[1]), "value": value, "topic": message[0]}


def read_alone(rig: Rig, folder: Path, schema: Schema) -> dict[str, dict[str, Any]]:
    """Puts a recording into cdc_raw; gives all events as the reader gives them by itself, each
    with the schema at its place."""
    expected: dict[str, dict[str, Any]] = {}
    for packed in packed_segments(folder):
        name = parse_log_name(packed.name.removesuffix(".gz"))
        assert name is not None
        log = put(rig.raw.directory, name, gzip.decompress(packed.read_bytes()))
        rig.raw.directory.joinpath(name.idx).write_text("1048576\nCOMPLETED")
        events, schema = known_events(log, name, schema)
        expected |= {source(message): facts(message) for message in events}
    return expected


CHANGING = [f for f in readable_folders() if f.name in ("types", "peer", "f11-schema-churn")]


@pytest.mark.parametrize(
    "folder", CHANGING, ids=lambda folder: f"{folder.parent.name}-{folder.name}"
)
def test_a_schema_that_changes_in_the_log_with_batches_ahead(
    make_rig: MakeRig, worker: Worker, folder: Path
) -> None:
    """Every event has the schema at its place in the log, however reads, sends, restarts of the
    sink and kills of the agent fall together."""
    schema_text = (folder / "schema.cql").read_text(encoding="utf-8")
    sink = MemorySink(automatic=False, capacity=25)
    rig = make_rig(
        make_worker=worker.make,
        sink=sink,
        open_reader=open_with(FORMAT),
        schema=Schema.from_cql(schema_text),
        window_max_events=100,
        batch_max_events=10,
        quarantine_max_bytes=100_000_000,
    )
    expected = read_alone(rig, folder, Schema.from_cql(schema_text))
    delivered: dict[str, dict[str, Any]] = {}
    for turn in range(20_000):
        if turn % 3:
            worker.work()
        if turn % 5 == 0:
            rig.clock.advance(31)
            sink.acknowledge(sink.waiting[::-1][: turn % 40])
        if turn % 211 == 210:
            sink.raise_next(SinkRestartError("events were lost"))
        rig.tick()
        delivered.update((source(message), facts(message)) for _, message in sink.messages)
        sink.messages.clear()
        if not rig.raw.names():
            break
        if turn % 307 == 306:
            worker.work()
            sink = MemorySink(automatic=False, capacity=25)
            rig.kill(sink=sink)
    assert rig.raw.names() == set()
    assert delivered == expected


COUNTERS = FIXTURES / "5.0" / "counter-shards"


@pytest.mark.parametrize("node", ["node1", "node2", "node3"])
def test_counters_that_are_read_again_after_a_batch_was_dropped(
    make_rig: MakeRig, worker: Worker, node: str
) -> None:
    """Who follows the events has what SELECT says: a shard that was read before it was dropped is
    told again, never counted again."""
    folder = COUNTERS / node
    shards = EventFormat(
        topic_prefix="t", cluster="c", node_id="n", counter_events="shards", all_tables=True
    )
    sink = MemorySink(automatic=False)
    rig = make_rig(
        make_worker=worker.make,
        sink=sink,
        open_reader=open_with(shards, CounterHistory(1 << 20)),
        schema=Schema.from_cql((folder / "schema.cql").read_text(encoding="utf-8")),
        window_max_events=40,
        batch_max_events=5,
        blocked_timeout_ms=1000,
    )
    (packed,) = folder.glob("CommitLog-*.log.gz")
    name = parse_log_name(packed.name.removesuffix(".gz"))
    assert isinstance(name, SegmentName)
    put(rig.raw.directory, name, gzip.decompress(packed.read_bytes()))
    rig.raw.directory.joinpath(name.idx).write_text("1048576\nCOMPLETED")
    hits = Table()
    for turn in range(20_000):
        if turn % 3:
            worker.work()
        if turn % 4 == 0:
            rig.clock.advance(31)
            sink.acknowledge(sink.waiting[:7])
        if turn % 11 == 10:
            # A read goes on, and what it gives is never seen.
            sink.raise_next(SinkRestartError("events were lost"))
        rig.tick()
        events = [_event(message) for _, message in sink.messages]
        hits.apply(e for e in events if e.value["source"]["keyspace"] == "triple")
        sink.messages.clear()
        if not rig.raw.names():
            break
    assert rig.raw.names() == set()
    assert "cdc_sink_restarts_total 0.0" not in rig.metrics.delivery.render().decode()
    hits.check(json.loads((COUNTERS / "answers.json").read_text())["triple"])
    assert hits.deltas > 0


def _event(message: Message) -> Event:
    topic, key, value, headers, _ = message
    named = {name: text.hex() if name == "cdc.id" else text.decode() for name, text in headers}
    return Event(
        topic=topic, key=json.loads(key), value=json.loads(value or b"null"), headers=named
    )
