"""A snapshot is placed where the output equals the state of the collections."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mongo_agent.change_stream.position import StreamPosition
from mongo_agent.change_stream.reader import StreamBatch
from mongo_agent.change_stream.tokens import NO_EVENTS
from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import ChangeEvents, MongoEncoder
from mongo_agent.pipeline.snapshot_point import StreamWatermark, exact_point

NOTHING = MongoEncoder(topic_prefix="p", replica_set="rs0", node_id="n").encode(())


def at(number: int) -> ClusterTime:
    return ClusterTime(1_700_000_000, number)


def read(token: int, *events: int) -> StreamBatch:
    """A reply with events of these times. Its token has no event, or belongs to the last event."""
    position = StreamPosition({}, at(token), "f", "rs0")
    blank = StreamBatch(NO_EVENTS, NOTHING, position, None)
    if not events:
        return blank
    raw = ChangeEvents([b""] * len(events))
    return replace(blank, events=raw, first_time=at(events[0]), last_time=at(events[-1]))


def test_snapshot_point_follows_a_token_without_event() -> None:
    assert exact_point(StreamWatermark(at(3), at(9)), None) == at(8)


def test_snapshot_point_never_follows_event_with_possible_siblings() -> None:
    assert exact_point(StreamWatermark(at(3), at(3)), None) is None
    assert exact_point(StreamWatermark(at(3), at(3)), read(3, 3)) is None


def test_snapshot_point_follows_the_last_event() -> None:
    """A reply never ends within an oplog entry. With several shards, another shard may still have
    an event of the same time."""
    placed = StreamWatermark(at(0), at(0)).after(read(3, 3))
    assert exact_point(placed, None) is None
    assert exact_point(placed.after(read(3)), None) == at(3)
    assert exact_point(placed.after(read(3)), read(5, 5)) == at(4)
    merged = StreamWatermark(at(0), at(0), is_merged=True).after(read(3, 3)).after(read(3))
    assert exact_point(merged, None) is None


def test_opaque_tokens_have_no_time() -> None:
    """The time of a reply without events marks a point up to which nothing is missing."""
    opaque = StreamPosition({"_data": "opaque"}, at(7), "f", "rs0")
    placed = StreamWatermark(at(3), at(3)).after(replace(read(7), position=opaque))
    assert placed.through == at(7)
    eventful = placed.after(replace(read(8, 8), position=replace(opaque, time=at(8))))
    assert eventful.through == at(7)
    assert StreamWatermark(at(3), at(3)).after(read(7)).through == at(6)


def test_snapshot_point_precedes_a_later_event() -> None:
    assert exact_point(StreamWatermark(at(3), at(3)), read(7, 5, 7)) == at(4)


def test_cluster_time_steps_across_seconds() -> None:
    assert ClusterTime(7, 0).before == ClusterTime(6, 2**32 - 1)
    assert ClusterTime(6, 2**32 - 1).after == ClusterTime(7, 0)
    assert ClusterTime(6, 5).after.before == ClusterTime(6, 5)


@given(st.lists(st.tuples(st.integers(1, 50), st.booleans()), min_size=1, max_size=12), st.data())
def test_snapshot_point_separates_earlier_and_later_events(
    steps: list[tuple[int, bool]], data: st.DataObject
) -> None:
    """Events arrive in the order of their times, split into replies anywhere. A reply ends with the
    token of its last event or a later token."""
    times = sorted(number * 2 for number, _ in steps)
    cut = data.draw(st.integers(1, len(times)))
    before, after = times[:cut], times[cut:]
    has_mark = steps[0][1] and (not after or after[0] > before[-1])
    highest = after[0] if after else before[-1] + 4
    token = data.draw(st.integers(before[-1] + 1, highest)) if has_mark else before[-1]
    placed = StreamWatermark(at(0), at(0)).after(read(token, *before))
    following = read(after[-1], *after) if after != [] and data.draw(st.booleans()) else None
    point = exact_point(placed, following)
    if point is not None:
        assert all(at(number) <= point for number in before)
        assert all(at(number) > point for number in after)
