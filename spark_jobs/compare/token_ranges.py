"""Equal token ranges of the ring. Pure.

The number of ranges is a power of two, so that the range of a token is a prefix of its position.
"""

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

_MIN_TOKEN = -(1 << 63)
_TOKEN_BITS = 64


@dataclass(frozen=True, slots=True)
class TokenRange:
    """The tokens from `after` (exclusive) to `to` (inclusive). No row has the smallest token."""

    number: int
    after: int
    to: int


def token_ranges(at_least: int) -> tuple[TokenRange, ...]:
    """The ranges of the whole ring in order: the next power of two."""
    bits = (at_least - 1).bit_length()
    size = 1 << (_TOKEN_BITS - bits)
    starts = [_MIN_TOKEN + number * size for number in range(1 << bits)]
    return tuple(
        TokenRange(number, max(_MIN_TOKEN, start - 1), start + size - 1)
        for number, start in enumerate(starts)
    )


def range_of(token: Column, ranges: int) -> Column:
    """The number of the range of a token."""
    bits = (ranges - 1).bit_length()
    if not bits:
        return F.lit(0)
    position = token.bitwiseXOR(F.lit(_MIN_TOKEN))
    return F.shiftrightunsigned(position, _TOKEN_BITS - bits).cast("int")
