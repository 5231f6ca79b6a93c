import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cdc_raw.idx import NO_UPDATE, Idx, merge_idx, parse_idx


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", NO_UPDATE),
        (b"100013", Idx(offset=100013)),
        (b"0", Idx(offset=0)),
        (b"100013\n", Idx(offset=100013)),
        (b"1048576\nCOMPLETED", Idx(completed=True, completed_at=1048576)),
        (b"22090\nCOMPLETED\n", Idx(completed=True, completed_at=22090)),
    ],
)
def test_index_files_of_node_are_parsed(content: bytes, expected: Idx) -> None:
    assert parse_idx(content) == expected


@pytest.mark.parametrize(
    "content",
    [
        b"\0\0\0\0",
        b"12a",
        b"-5",
        b" 12",
        b"12\nCOMPLE",
        b"12\r\nCOMPLETED",
        b"COMPLETED",
        b"9" * 70,
        b"2147483648",
    ],
)
def test_garbage_index_is_reported_as_unreadable(content: bytes) -> None:
    idx = parse_idx(content)
    assert not idx.has_update
    assert idx.unreadable


@given(st.binary(max_size=80))
def test_index_parser_accepts_any_bytes(content: bytes) -> None:
    idx = parse_idx(content)
    assert idx.has_update or idx.unreadable or not content


@given(st.lists(st.integers(0, (1 << 31) - 1)), st.booleans())
def test_index_offset_never_decreases(offsets: list[int], completed: bool) -> None:
    idx = NO_UPDATE
    for offset in offsets:
        later = merge_idx(idx, parse_idx(str(offset).encode()))
        assert later.offset is not None
        assert idx.offset is None or later.offset >= idx.offset
        idx = later
    assert idx.offset == max(offsets, default=None)
    if completed:
        done = merge_idx(idx, Idx(completed=True))
        assert done.completed
        assert merge_idx(done, Idx(offset=3)).completed
        assert merge_idx(done, NO_UPDATE).completed
