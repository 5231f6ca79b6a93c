"""Counters: shards as events, the follower's totals, and deltas that are never repeated."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import commitlog
from tests.oracle import writer
from tests.oracle.reference.recordings import Scenario
from tests.support.events.counter_following import Table
from tests.support.record.plan import FIXTURES
from tests.support.segments.segment_reading import Event, schema_of, unpacked
from tests.support.segments.skipping_reader import SkippingReader

RECORDING = FIXTURES / "5.0" / "counter-shards"
NODES = [Scenario(FIXTURES, RECORDING / f"node{number}") for number in (1, 2, 3)]
ANSWERS = json.loads((RECORDING / "answers.json").read_text())

COUNTERS = UUID("5a1c395e-b41f-11e5-9f22-ba0be0483c18")
LATER = UUID("7a1c395e-b41f-11e5-9f22-ba0be0483c18")


def table(name: str, table_id: UUID) -> str:
    return (
        f"CREATE TABLE k.{name} (p text, c int, v counter, PRIMARY KEY (p, c))"
        f" WITH ID = {table_id} AND cdc = true;\n"
    )


SCHEMA = commitlog.Schema.from_cql(table("t", COUNTERS))
WHOLE_SCHEMA = commitlog.Schema.from_cql(table("t", COUNTERS) + table("later", LATER))
SHARDS = commitlog.EventFormat(topic_prefix="t", cluster="c", node_id="n", counter_events="shards")


def history() -> commitlog.CounterHistory:
    return commitlog.CounterHistory(1 << 20)


def recorded(
    node: Scenario,
    folder: Path,
    counters: commitlog.CounterHistory,
    position: int = 0,
    max_events: int = 1000,
) -> list[Event]:
    """Events of one node's segment from `position` on, read `max_events` at a time."""
    ((path, name),) = node.segments()
    segment = commitlog.SegmentReader(str(unpacked(path, name, folder)), position=position)
    reader = SkippingReader(segment)
    schema = schema_of(node)
    found: list[Event] = []
    while True:
        batch, blocked = reader.read(
            schema, SHARDS, complete=True, max_events=max_events, counters=counters
        )
        assert blocked is None, blocked.reason
        lines = batch.ndjson(0, len(batch)).splitlines()
        found += [Event(**json.loads(line)) for line in lines]
        if batch.stop == "end":
            return found


def of_keyspace(events: list[Event], keyspace: str) -> list[Event]:
    return [event for event in events if event.value["source"]["keyspace"] == keyspace]


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.folder.name)
def test_counter_deltas_since_first_write_equal_select(node: Scenario, tmp_path: Path) -> None:
    """With three replicas every node's log holds every shard."""
    hits = Table()
    hits.apply(of_keyspace(recorded(node, tmp_path, history()), "triple"))
    hits.check(ANSWERS["triple"])
    assert hits.deltas > 50


def test_counters_with_one_replica_equal_select(tmp_path: Path) -> None:
    hits = Table()
    for node in NODES:
        hits.apply(of_keyspace(recorded(node, tmp_path, history()), "single"))
    hits.check(ANSWERS["single"])


def test_counter_event_ids_are_equal_on_all_replicas(tmp_path: Path) -> None:
    """Ids exclude deltas, because each node has seen another history."""
    of_nodes = []
    for node, max_bytes in zip(NODES, (1 << 20, 0, 2000), strict=True):
        events = recorded(node, tmp_path, commitlog.CounterHistory(max_bytes))
        of_nodes.append({event.headers["cdc.id"] for event in of_keyspace(events, "triple")})
    assert of_nodes[0] == of_nodes[1] == of_nodes[2]
    assert len(of_nodes[0]) > 100


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_follower_total_is_right_after_crashes(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Each restart discards the history and resumes at an earlier position."""
    folder = tmp_path_factory.mktemp("crashes")
    node = data.draw(st.sampled_from(NODES))
    whole = recorded(node, folder, history())
    positions = sorted({event.source[0] for event in whole})
    hits = Table()
    done = 0
    for _ in range(data.draw(st.integers(0, 4))):
        start = data.draw(st.integers(0, done))
        stop = data.draw(st.integers(start, len(positions)))
        position = positions[start - 1] if start else 0
        events = recorded(node, folder, history(), position)
        seen = [event for event in events if event.source[0] in positions[start:stop]]
        hits.apply(of_keyspace(seen, "triple"))
        done = max(done, stop)
    position = positions[done - 1] if done else 0
    hits.apply(of_keyspace(recorded(node, folder, history(), position), "triple"))
    hits.check(ANSWERS["triple"])


def test_read_size_does_not_change_counter_events(tmp_path: Path) -> None:
    def without_clock(events: list[Event]) -> list[Any]:
        return [(e.key, e.value["after"], e.value["cells"], e.headers["cdc.id"]) for e in events]

    whole = recorded(NODES[0], tmp_path, history())
    assert without_clock(recorded(NODES[0], tmp_path, history(), max_events=1)) == without_clock(
        whole
    )


def test_counter_updates_are_skipped_by_default_and_counted(tmp_path: Path) -> None:
    ((path, name),) = NODES[0].segments()
    reader = SkippingReader(commitlog.SegmentReader(str(unpacked(path, name, tmp_path))))
    event_format = commitlog.EventFormat(topic_prefix="t", cluster="c", node_id="n")
    skipped = 0
    stop = ""
    while stop != "end":
        batch, blocked = reader.read(schema_of(NODES[0]), event_format, complete=True)
        assert blocked is None, blocked.reason
        assert len(batch) == 0
        skipped += batch.skipped.get("counter", 0)
        stop = batch.stop
    assert skipped == len(NODES[0].expected())
    with pytest.raises(ValueError, match="counter_events"):
        commitlog.EventFormat(
            topic_prefix="t",
            cluster="c",
            node_id="n",
            counter_events="sums",  # type: ignore[arg-type]
        )


def shard(number: int, clock: int, count: int) -> bytes:
    return bytes([number] * 16) + clock.to_bytes(8, "big") + count.to_bytes(8, "big", signed=True)


def written(*shards: bytes, table_id: UUID = COUNTERS) -> bytes:
    """A mutation that writes one counter."""
    header = len(shards).to_bytes(2, "big")
    for index in range(len(shards)):
        header += (0x8000 + index).to_bytes(2, "big")
    return writer.mutation(writer.update(table_id, writer.insert(1, header + b"".join(shards))))


def told(batch: commitlog.EventBatch) -> list[list[tuple[int, int | None, int | None]]]:
    """(count, delta, since) of each shard of each event."""
    events = [json.loads(line) for line in batch.ndjson(0, len(batch)).splitlines()]
    return [
        [
            (news["count"], news.get("delta"), news.get("since"))
            for news in event["value"]["after"]["v"]["shards"]
        ]
        for event in events
    ]


def reader_of(folder: Path, *payloads: bytes) -> commitlog.SegmentReader:
    path = folder / "CommitLog-7-5.log"
    path.write_bytes(writer.segment([payloads], segment_id=5))
    return commitlog.SegmentReader(str(path))


def test_repeated_and_late_shards_have_no_delta(tmp_path: Path) -> None:
    mutations = [
        written(shard(1, 10, 5)),
        written(shard(1, 30, 9)),
        written(shard(1, 30, 9)),
        written(shard(1, 20, 7)),
        # A read repair sends all shards in one cell.
        written(shard(1, 40, 10), shard(2, 15, -3)),
        written(shard(2, 16, -4)),
    ]
    batch = reader_of(tmp_path, *mutations).read(SCHEMA, SHARDS, complete=True, counters=history())
    assert told(batch) == [
        [(5, None, None)],
        [(9, 4, 10)],
        [(9, None, None)],
        [(7, None, None)],
        [(10, 1, 30), (-3, None, None)],
        [(-4, -1, 15)],
    ]
    ids = [json.loads(line)["headers"]["cdc.id"] for line in batch.ndjson(0, 6).splitlines()]
    assert (ids[1], len(set(ids))) == (ids[2], 5)


def test_counter_events_without_history_omit_deltas(tmp_path: Path) -> None:
    reader = reader_of(tmp_path, written(shard(1, 1, 1)), written(shard(1, 2, 2)))
    batch = reader.read(SCHEMA, SHARDS, complete=True)
    assert told(batch) == [[(1, None, None)], [(2, None, None)]]


def test_blocked_counter_mutation_counts_as_new(tmp_path: Path) -> None:
    two_tables = writer.mutation(
        *(
            writer.update(table_id, writer.insert(1, b"\0\1\x80\0" + shard(1, 20, 8)))
            for table_id in (COUNTERS, LATER)
        )
    )
    reader = reader_of(tmp_path, written(shard(1, 10, 5)), two_tables)
    counters = history()
    first = reader.read(SCHEMA, SHARDS, complete=True, counters=counters)
    assert (first.stop, told(first), len(counters)) == ("blocked", [[(5, None, None)]], 1)
    second = reader.read(WHOLE_SCHEMA, SHARDS, complete=True, counters=counters)
    assert told(second) == [[(8, 3, 10)], [(8, None, None)]]


def test_invalid_counter_context_blocks_its_record(tmp_path: Path) -> None:
    broken = writer.mutation(writer.update(COUNTERS, writer.insert(1, b"\0\1\x80")))
    batch = reader_of(tmp_path, broken).read(SCHEMA, SHARDS, complete=True)
    assert batch.stop == "blocked"
    assert batch.blocked is not None
    assert "counter" in batch.blocked.reason
