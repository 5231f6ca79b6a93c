"""What a comparison has read so far."""

from dataclasses import replace

import pytest

from spark_jobs.compare.digests import RangeDigest
from spark_jobs.compare.progress import (
    Progress,
    ReadRanges,
    groups_of,
    progress_from_json,
    progress_to_json,
)

BEGUN = Progress("id", "ALL", ranges=4, store_version=7, second=100)
FIRST = ReadRanges((0, 1), 10, 20)


def test_finished_groups_are_not_read_again() -> None:
    found = BEGUN.with_digests(FIRST, {1: RangeDigest(2, 99, 5)})
    assert found.unread() == [2, 3]
    assert progress_from_json(progress_to_json(found)) == found
    assert (found.live_rows, found.live_oldest_us, found.last_read_us) == (2, 5, 20)


def test_ranges_whose_digests_differ() -> None:
    found = BEGUN.with_digests(FIRST, {0: RangeDigest(1, 5, 3), 1: RangeDigest(2, 99)})
    store = {0: RangeDigest(1, 5), 1: RangeDigest(2, 98), 3: RangeDigest(1, 1)}
    assert found.differing(store) == [1, 3]
    assert found.with_rows(ReadRanges((3,), 30, 40)).to_store([1, 3]) == [1]


def test_groups() -> None:
    assert groups_of([1, 2, 3], 2) == [[1, 2], [3]]
    assert groups_of([], 2) == []


def test_a_finished_comparison_is_read_back_and_another_document_is_not() -> None:
    assert not BEGUN.is_finished
    assert progress_from_json(progress_to_json(replace(BEGUN, is_finished=True))).is_finished
    with pytest.raises(ValueError, match="format"):
        progress_from_json('{"format": 2}')
