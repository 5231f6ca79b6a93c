"""Segments that the node deletes unread: `cdc_block_writes: false` and a full `cdc_raw`."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from agent.quarantine.entries import discard
from agent.segments.awaited_files import PATIENCE_S
from tests.support.memory_sink import MemorySink
from tests.support.pipeline_harness import Rig

MakeRig = Callable[..., Rig]


def reason_of(rig: Rig, segment_id: int) -> Any:
    file = rig.quarantine.directory / f"CommitLog-7-{segment_id}.log.reason.json"
    return json.loads(file.read_text())


def test_segments_that_the_agent_never_saw_are_named_with_the_deleted_one(
    make_rig: MakeRig,
) -> None:
    """`cdc_block_writes: false`: the node deleted 2, 3 and 4, of which the agent knew 2 alone."""
    rig = make_rig(sink=MemorySink(automatic=False), window_max_events=4, batch_max_events=4)
    rig.raw.completed(1, 4, 4)
    gone = rig.raw.completed(2, 4)
    rig.settle()
    rig.raw.drop(gone)
    rig.raw.completed(5, 4)
    rig.settle()
    (lost,) = reason_of(rig, 2)["ranges"]
    assert lost["cause"].endswith(
        "; the agent saw no segment between it and CommitLog-7-5.log, so the node may have deleted "
        "others unread"
    )


def test_segments_deleted_while_the_agent_was_stopped_are_on_record(make_rig: MakeRig) -> None:
    """`cdc_block_writes: false`: the agent had finished 1, and the node deleted 2 and 3."""
    rig = make_rig(deletes_at_bytes=1)
    rig.raw.completed(1, 4)
    rig.settle()
    rig.kill()
    rig.raw.completed(4, 4)
    rig.settle()
    (lost,) = reason_of(rig, 2)["ranges"]
    assert lost["cause"].endswith("deleted segments unread before CommitLog-7-4.log")
    rig.kill()
    rig.raw.completed(5, 4)
    rig.settle()
    assert sorted(path.name for path in rig.quarantine.directory.iterdir()) == [
        "CommitLog-7-2.log.reason.json"
    ]


@pytest.mark.parametrize("limit", [None, 1 << 40])
def test_missing_ids_are_no_loss_while_the_node_has_room(
    make_rig: MakeRig, limit: int | None
) -> None:
    """Segments without changes leave `cdc_raw` by themselves."""
    rig = make_rig(deletes_at_bytes=limit)
    rig.raw.completed(1, 4)
    rig.settle()
    rig.kill()
    rig.raw.completed(4, 4)
    rig.settle()
    assert not rig.quarantine.directory.exists()


def test_the_record_is_withdrawn_when_the_segment_comes_back(make_rig: MakeRig) -> None:
    """An operator moved a segment away and back: the node deleted nothing."""
    rig = make_rig(sink=MemorySink(automatic=False), window_max_events=4, batch_max_events=4)
    first = rig.raw.completed(1, 4, 4)
    moved = rig.raw.completed(2, 4)
    rig.settle()
    log, idx = (rig.raw.directory / name for name in (moved.name.log, moved.name.idx))
    texts = log.read_bytes(), idx.read_bytes()
    rig.raw.drop(moved)
    rig.raw.completed(5, 4)
    rig.settle()
    assert "no segment between" in reason_of(rig, 2)["ranges"][0]["cause"]
    idx.write_bytes(texts[1])
    log.write_bytes(texts[0])
    for _ in range(8):
        rig.settle()
        rig.sink.acknowledge()
    rig.settle()
    assert set(first.ids()) | set(moved.ids()) <= set(rig.collect())
    assert not (rig.quarantine.directory / f"{moved.name.log}.reason.json").exists()


def test_a_discarded_loss_is_not_reported_again_at_the_next_start(make_rig: MakeRig) -> None:
    """The first segment was begun and its events are acknowledged late; of another segment only
    the index stayed."""
    rig = make_rig(sink=MemorySink(automatic=False))
    begun = rig.raw.segment(1, 1, 1, 1)
    rig.raw.index(begun, begun.records[1].end)
    rig.raw.completed(2, 4)
    alone = rig.raw.completed(3, 4)
    (rig.raw.directory / alone.name.log).unlink()
    rig.settle()
    rig.raw.drop(begun)
    rig.settle()
    rig.sink.acknowledge()
    rig.settle()
    rig.pass_time(PATIENCE_S)
    for log in (begun, alone):
        assert reason_of(rig, log.name.id)["ranges"]
        discard(rig.quarantine.directory, rig.raw.directory, log.name, lambda *_: None)
    rig.kill()
    rig.settle()
    rig.pass_time(PATIENCE_S)
    assert list(rig.quarantine.directory.iterdir()) == []
    assert rig.raw.names() == set()
