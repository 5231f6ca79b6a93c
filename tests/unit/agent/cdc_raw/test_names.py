from hypothesis import given
from hypothesis import strategies as st

from agent.cdc_raw.names import SegmentName, parse_idx_name, parse_log_name


def test_orders_by_number_and_not_by_text() -> None:
    texts = ["CommitLog-7-1000.log", "CommitLog-7-999.log", "CommitLog-8-99.log"]
    names = [parse_log_name(text) for text in texts]
    assert sorted(name.id for name in names if name) == [99, 999, 1000]
    assert sorted(n for n in names if n)[0] == SegmentName(id=99, version=8)


def test_rejects_files_that_are_not_segments() -> None:
    for text in (
        *("CommitLog-1699.log", "CommitLog-7-1699.log.gz", "CommitLog-7-01699.log"),
        *("CommitLog-07-1699.log", "CommitLog-7--1.log", "CommitLog-7-9223372036854775808.log"),
        *("CommitLog-4294967296-1.log", "CommitLog-7-1699-CDC.idx", "CommitLog-7-1699.log\n"),
        *("CommitLog-7-\u0661.log", ""),
    ):
        assert parse_log_name(text) is None, text
        assert parse_idx_name(text) is None, text


@given(st.integers(0, (1 << 63) - 1), st.integers(0, (1 << 31) - 1))
def test_names_survive_the_round_trip(segment_id: int, version: int) -> None:
    name = SegmentName(id=segment_id, version=version)
    assert name.log == f"CommitLog-{version}-{segment_id}.log"
    assert name.idx == f"CommitLog-{version}-{segment_id}_cdc.idx"
    assert parse_log_name(name.log) == parse_idx_name(name.idx) == name
    assert parse_log_name(name.idx) is parse_idx_name(name.log) is None
