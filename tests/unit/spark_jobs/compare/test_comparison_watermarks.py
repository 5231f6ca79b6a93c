"""The time until which the store contains every acknowledged write, by token range."""

from spark_jobs.compare.comparison import complete_until_us
from spark_jobs.compare.digests import token_ranges
from spark_jobs.watermarks.table_watermark import RangeWatermark

MIN_TOKEN, MAX_TOKEN = -(1 << 63), (1 << 63) - 1


def test_smallest_watermark_of_range_counts() -> None:
    watermarks = [
        RangeWatermark(MIN_TOKEN, 5, 0, until_ms=3),
        RangeWatermark(5, MAX_TOKEN, 0, until_ms=2),
    ]
    first, second = token_ranges(2)
    assert complete_until_us((first, second), watermarks) == {0: 3000, 1: 2000}
    assert complete_until_us((first, second), ()) == {}
