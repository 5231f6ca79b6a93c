"""What tells a segment from another file of its name, and the end of a read from another thread."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import commitlog
from tests.oracle.writer import FRAMINGS, Framing, Written, write_segment
from tests.support.segments.missing_ends import payload

unencrypted = st.sampled_from([each for each in FRAMINGS if not each.keys])


def written(framing: Framing, first: int, sections: list[list[int]]) -> Written:
    payloads = [[payload(first, length, 7) for length in section] for section in sections]
    return write_segment(payloads, 7, 1, framing)


def fingerprint(data: bytes) -> int:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "CommitLog-7-1.log"
        path.write_bytes(data)
        return commitlog.SegmentReader(str(path)).fingerprint


@settings(max_examples=40)
@given(
    unencrypted,
    st.lists(st.lists(st.integers(0, 300), min_size=1, max_size=3), min_size=2, max_size=4),
    st.integers(0, 1 << 20),
)
def test_a_fingerprint_stays_while_the_node_appends(
    framing: Framing, sections: list[list[int]], preallocated: int
) -> None:
    whole = written(framing, 1, sections)
    expected = fingerprint(whole.data)
    for end in whole.markers[1:]:
        assert fingerprint(whole.data[:end]) == expected
        assert fingerprint(whole.data[:end] + bytes(preallocated)) == expected
    assert fingerprint(written(framing, 2, sections).data) != expected


def test_an_interrupted_reader_reads_no_more(tmp_path: Path) -> None:
    path = tmp_path / "CommitLog-7-1.log"
    path.write_bytes(written(FRAMINGS[0], 1, [[10]]).data)
    reader = commitlog.SegmentReader(str(path))
    reader.interrupt()
    with pytest.raises(OSError, match="interrupted"):
        reader.verify()
