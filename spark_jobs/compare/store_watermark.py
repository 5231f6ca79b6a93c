"""Up to which time the store has every acknowledged write, by token range. Pure."""

from collections.abc import Iterable, Mapping

from spark_jobs.compare.token_ranges import TokenRange
from spark_jobs.watermarks.table_watermark import RangeWatermark


def complete_until_us(
    ranges: Iterable[TokenRange], watermarks: Iterable[RangeWatermark]
) -> Mapping[int, int]:
    """The smallest watermark that overlaps each range, by number of the range. Without watermarks
    nothing is known, which gives no entry."""
    known = list(watermarks)
    found = {}
    for each in ranges:
        ends_ms = [one.until_ms for one in known if one.after < each.to and each.after < one.to]
        if ends_ms:
            found[each.number] = min(ends_ms) * 1000
    return found
