"""Names of segments, and the oldest one of a set."""

from hypothesis import given
from hypothesis import strategies as st

from agent.cdc_raw.names import OldestFirst, SegmentName, parse_file_name, parse_log_name


def test_segments_sort_by_numeric_id() -> None:
    texts = ["CommitLog-7-1000.log", "CommitLog-7-999.log", "CommitLog-8-99.log"]
    names = [parse_log_name(text) for text in texts]
    assert sorted(name.id for name in names if name) == [99, 999, 1000]
    assert sorted(n for n in names if n)[0] == SegmentName(id=99, version=8)


def test_names_of_other_files_are_rejected() -> None:
    for text in (
        *("CommitLog-1699.log", "CommitLog-7-1699.log.gz", "CommitLog-7-01699.log"),
        *("CommitLog-07-1699.log", "CommitLog-7--1.log", "CommitLog-7-9223372036854775808.log"),
        *("CommitLog-4294967296-1.log", "CommitLog-7-1699-CDC.idx", "CommitLog-7-1699.log\n"),
        *("CommitLog-7-\u0661.log", ""),
    ):
        assert parse_log_name(text) is None, text
        assert parse_file_name(text) is None, text


@given(st.integers(0, (1 << 63) - 1), st.integers(0, (1 << 31) - 1))
def test_segment_names_survive_round_trip(segment_id: int, version: int) -> None:
    name = SegmentName(id=segment_id, version=version)
    assert name.log == f"CommitLog-{version}-{segment_id}.log"
    assert name.idx == f"CommitLog-{version}-{segment_id}_cdc.idx"
    assert (
        parse_log_name(name.log) == parse_file_name(name.log) == parse_file_name(name.idx) == name
    )
    assert parse_log_name(name.idx) is None


names = st.builds(SegmentName, st.integers(0, 200), st.integers(6, 7))


@given(st.lists(st.tuples(names, st.booleans(), st.booleans()), max_size=300))
def test_oldest_first_returns_minimum_of_set(changes: list[tuple[SegmentName, bool, bool]]) -> None:
    ordered, plain = OldestFirst(), set[SegmentName]()
    for name, is_member, is_asked in changes:
        ordered.put(name, is_member=is_member)
        (plain.add if is_member else plain.discard)(name)
        assert len(ordered) == len(plain)
        if is_asked:
            assert ordered.oldest == min(plain, default=None)
    assert ordered.oldest == min(plain, default=None)


def test_heap_stays_small_after_removals() -> None:
    ordered = OldestFirst()
    ordered.put(SegmentName(0, 7), is_member=True)
    for segment_id in range(1, 5000):
        ordered.put(SegmentName(segment_id, 7), is_member=True)
        ordered.put(SegmentName(segment_id, 7), is_member=False)
        assert ordered.oldest == SegmentName(0, 7)
        assert len(ordered._heap) < 100
