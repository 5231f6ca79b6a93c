"""The oldest name of a set, whatever was added and removed before."""

from hypothesis import given
from hypothesis import strategies as st

from agent.cdc_raw.names import SegmentName
from agent.segments.oldest_first import OldestFirst

names = st.builds(SegmentName, st.integers(0, 200), st.integers(6, 7))


@given(st.lists(st.tuples(names, st.booleans(), st.booleans()), max_size=300))
def test_the_oldest_is_that_of_the_set(changes: list[tuple[SegmentName, bool, bool]]) -> None:
    ordered, plain = OldestFirst(), set[SegmentName]()
    for name, is_member, is_asked in changes:
        ordered.put(name, is_member=is_member)
        (plain.add if is_member else plain.discard)(name)
        assert len(ordered) == len(plain)
        if is_asked:
            assert ordered.oldest == min(plain, default=None)
    assert ordered.oldest == min(plain, default=None)


def test_removed_names_are_forgotten() -> None:
    ordered = OldestFirst()
    ordered.put(SegmentName(0, 7), is_member=True)
    for segment_id in range(1, 5000):
        ordered.put(SegmentName(segment_id, 7), is_member=True)
        ordered.put(SegmentName(segment_id, 7), is_member=False)
        assert ordered.oldest == SegmentName(0, 7)
        assert len(ordered._heap) < 100
