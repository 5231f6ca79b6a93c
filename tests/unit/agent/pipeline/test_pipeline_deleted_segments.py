"""Segments that the node deletes unread: `cdc_block_writes: false` and a full `cdc_raw`."""

import pytest

from agent.quarantine.entries import discard
from agent.segments.awaited_files import PATIENCE_S
from tests.support.pipeline.harness import MakeHarness, PipelineHarness
from tests.support.sinks.memory_sink import MemorySink

SMALL_WINDOW = {"window_max_events": 4, "batch_max_events": 4}


def test_segments_that_the_agent_never_saw_are_named_with_the_deleted_one(
    make_harness: MakeHarness,
) -> None:
    """`cdc_block_writes: false`: the node deleted 2, 3 and 4, of which the agent knew 2 alone."""
    harness = make_harness(**SMALL_WINDOW, sink=MemorySink(automatic=False))
    harness.raw.completed(1, 4, 4)
    gone = harness.raw.completed(2, 4)
    harness.settle()
    harness.raw.drop(gone)
    harness.raw.completed(5, 4)
    harness.settle()
    (lost,) = harness.ranges(2)
    assert lost["cause"].endswith(
        "; the agent saw no segment between it and CommitLog-7-5.log, so the node may have deleted "
        "others unread"
    )


def test_segments_deleted_while_agent_was_stopped_are_on_record(
    make_harness: MakeHarness,
) -> None:
    """`cdc_block_writes: false`: the agent had finished 1, and the node deleted 2 and 3."""
    harness = make_harness(deletes_at_bytes=1)
    harness.raw.completed(1, 4)
    harness.settle()
    harness.kill()
    harness.raw.completed(4, 4)
    harness.settle()
    (lost,) = harness.ranges(2)
    assert lost["cause"].endswith("deleted segments unread before CommitLog-7-4.log")
    harness.kill()
    harness.raw.completed(5, 4)
    harness.settle()
    assert sorted(path.name for path in harness.quarantine.directory.iterdir()) == [
        "CommitLog-7-2.log.reason.json"
    ]


@pytest.mark.parametrize("limit", [None, 1 << 40])
def test_missing_ids_are_no_loss_while_the_node_has_room(
    make_harness: MakeHarness, limit: int | None
) -> None:
    """Segments without changes leave `cdc_raw` by themselves."""
    harness = make_harness(deletes_at_bytes=limit)
    harness.raw.completed(1, 4)
    harness.settle()
    harness.kill()
    harness.raw.completed(4, 4)
    harness.settle()
    assert not harness.quarantine.directory.exists()


def test_the_record_is_withdrawn_when_the_segment_comes_back(make_harness: MakeHarness) -> None:
    """An operator moved a segment away and back: the node deleted nothing."""
    harness = make_harness(**SMALL_WINDOW, sink=MemorySink(automatic=False))
    first = harness.raw.completed(1, 4, 4)
    moved = harness.raw.completed(2, 4)
    harness.settle()
    log, idx = (harness.raw.directory / name for name in (moved.name.log, moved.name.idx))
    texts = log.read_bytes(), idx.read_bytes()
    harness.raw.drop(moved)
    harness.raw.completed(5, 4)
    harness.settle()
    assert "no segment between" in harness.ranges(2)[0]["cause"]
    idx.write_bytes(texts[1])
    log.write_bytes(texts[0])
    for _ in range(8):
        harness.settle()
        harness.acknowledge()
    assert set(first.ids()) | set(moved.ids()) <= set(harness.collect())
    assert not (harness.quarantine.directory / f"{moved.name.log}.reason.json").exists()


def test_a_discarded_loss_is_not_reported_again_at_the_next_start(held: PipelineHarness) -> None:
    """The first segment was begun and its events are acknowledged late; of another segment only
    the index stayed."""
    begun = held.raw.segment(1, 1, 1, 1)
    held.raw.index(begun, begun.records[1].end)
    held.raw.completed(2, 4)
    alone = held.raw.completed(3, 4)
    (held.raw.directory / alone.name.log).unlink()
    held.settle()
    held.raw.drop(begun)
    held.settle()
    held.acknowledge()
    held.pass_time(PATIENCE_S)
    for log in (begun, alone):
        assert held.ranges(log.name.id)
        discard(held.quarantine.directory, held.raw.directory, log.name, lambda *_: None)
    held.kill()
    held.settle()
    held.pass_time(PATIENCE_S)
    assert (list(held.quarantine.directory.iterdir()), held.raw.names()) == ([], set())
